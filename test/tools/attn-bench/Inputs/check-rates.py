# ===- check-rates.py - The rates of a benchmark follow from its times -------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   check-rates.py FILE.json     as attn-bench --json writes it

import json
import statistics
import sys

ELEMENT_BYTES = {"f64": 8, "f32": 4, "bf16": 2}


def same(got, expected):
    return abs(got - expected) <= 1e-9 * abs(expected)


with open(sys.argv[1]) as file:
    cases = json.load(file)["cases"]
assert cases
for case in cases:
    seconds = case["min_ms"] * 1e-3
    flops = 2 * (case["head_dim"] + case["value_dim"]) * case["visible_pairs"]
    elements = (case["query_heads"] * case["queries"] * case["head_dim"] +
                case["key_heads"] * case["keys"] * (case["head_dim"] + case["value_dim"]))
    read = case["batch"] * elements * ELEMENT_BYTES[case["type"]]
    assert case["min_ms"] == min(case["times_ms"]), case
    assert same(case["median_ms"], statistics.median(case["times_ms"])), case
    assert case["input_bytes"] == read, case
    assert same(case["gflops"], flops / seconds / 1e9), case
    assert same(case["gb_per_s"], read / seconds / 1e9), case
    assert same(case["share_of_peak"], case["gflops"] / case["peak_gflops"]), case
    assert case["share_of_peak"] > 0, case
    # A peak that was interrupted says nothing: the best of those of this unit.
    peak = max(other["peak_gflops"] for other in cases if other["peak_unit"] == case["peak_unit"])
    assert case["gflops"] <= 1.5 * peak, case
