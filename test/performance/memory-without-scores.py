# ===- memory-without-scores.py - No scores in memory ----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   memory-without-scores.py TOOLS SCRATCH
#
# Attention of one head over S = 16384 keys, unmasked: its scores would take
# 1 GiB. The whole process must stay under 200 MiB, and what a run allocates
# must not grow faster than S. The same holds for statistics of its weights.

import json
import os
import subprocess
import sys

tools, scratch = sys.argv[1:]
GRAPH = """
!t = tensor<1x1x?x64xf32>
!s = tensor<1x1x?x?xf32>
func.func @attention(%q: !t {attn.dims = ["", "", "S", ""]}, %k: !t {attn.dims = ["", "", "S", ""]},
                     %v: !t {attn.dims = ["", "", "S", ""]}) -> !t {
  %s = attn.qk %q, %k : !t, !t -> !s
  %c = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %c : !s
  %o = attn.weighted_sum %p, %v : !s, !t -> !t
  return %o : !t
}
"""
STATS = """
!t = tensor<1x1x?x64xf32>
!s = tensor<1x1x?x?xf32>
!r = tensor<1x1x?xf32>
func.func @stats(%q: !t {attn.dims = ["", "", "S", ""]}, %k: !t {attn.dims = ["", "", "S", ""]},
                 %v: !t {attn.dims = ["", "", "S", ""]}) -> (!t, !r, !r, !r, tensor<1x1x?x4xf32>, tensor<1x1x?x4xi32>) {
  %s = attn.qk %q, %k : !t, !t -> !s
  %c = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %c : !s
  %o = attn.weighted_sum %p, %v : !s, !t -> !t
  %sums, %max, %entropy, %top, %keys = attn.weight_stats %p column_sums row_max entropy top_k 4 : !s
    -> !r, !r, !r, tensor<1x1x?x4xf32>, tensor<1x1x?x4xi32>
  return %o, %sums, %max, %entropy, %top, %keys : !t, !r, !r, !r, tensor<1x1x?x4xf32>, tensor<1x1x?x4xi32>
}
"""
LIMIT = 200 << 20


def run(source, length):
    report = os.path.join(scratch, "memory.json")
    subprocess.run([os.path.join(tools, "attn-run"), source, "--require-fused", "--threads=1",
                    "--dim=S=%d" % length, "--input=random", "--input=random", "--input=random",
                    "--bench-json=" + report], check=True, stdout=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file)


for name, graph in [("attention", GRAPH), ("statistics", STATS)]:
    source = os.path.join(scratch, "memory-%s.mlir" % name)
    with open(source, "w") as file:
        file.write(graph)
    short, long = run(source, 2048), run(source, 16384)
    print("%s, S = 16384: peak %.1f MiB, %d bytes planned (S = 2048: %.1f MiB, %d bytes)" %
          (name, long["peak_rss_bytes"] / 2**20, long["planned_bytes"],
           short["peak_rss_bytes"] / 2**20, short["planned_bytes"]))
    assert long["outputs"][0]["shape"] == [1, 1, 16384, 64], long["outputs"]
    assert 0 < long["peak_rss_bytes"] < LIMIT, "the process takes more than 200 MiB"
    # At most packed keys and values, which grow with S; scores would grow with its square.
    assert long["planned_bytes"] <= 8 * short["planned_bytes"], "planned bytes grow faster than S"
    assert long["planned_bytes"] < 16 << 20, "more than a packed copy of keys and values"
