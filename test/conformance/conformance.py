# ===- conformance.py - ONNX's node cases through attn-run -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# Makes models and data of the single-node cases of the `onnx` package, runs each
# through attn-run, compares as ONNX's own runner does, and prints a table.
#
#   conformance.py --attn-run=PATH --work=FOLDER [--filter=REGEX] [--verbose]
#
# Exits with 1 when a case fails or is unsupported, or when the package has other
# cases than the table expects. Function bodies (cases that end in `_expanded`)
# are graphs of many nodes and not run.
#
# ===------------------------------------------------------------------------===#

import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np

warnings.filterwarnings("ignore")

from onnx.backend.test.case.node import collect_testcases  # noqa: E402

# How many cases the pinned package has: none may go missing.
EXPECTED = {
    "Attention": 93,
    "FlexAttention": 11,
    "LinearAttention": 14,
    "RotaryEmbedding": 8,
    "LayerNormalization": 19,
    "RMSNormalization": 19,
    "Softmax": 7,
    "Gelu": 4,
    "MatMul": 7,
}
Result = collections.namedtuple("Result", "op name status reason fused")


def collect():
    """The single-node cases of the operators above, by name."""
    cases = {}
    for case in collect_testcases(None):
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in EXPECTED and \
                not case.name.endswith("_expanded"):
            cases[case.name] = case
    return cases


def save(path, array):
    array = np.ascontiguousarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        array = array.view("V2")
    np.save(path, array)


def load(path, dtype):
    array = np.load(path)
    return array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" and \
        dtype == ml_dtypes.bfloat16 else array


def compare(got, expected, rtol, atol):
    """As `assert_similar_outputs` of onnx.backend.test.runner does."""
    np.testing.assert_array_equal(got.shape, expected.shape)
    np.testing.assert_equal(got.dtype, expected.dtype)
    if expected.dtype == ml_dtypes.bfloat16:
        rtol = max(rtol, 2 ** -6)
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def run_data_set(attn_run, model, graph, folder, inputs, outputs, case):
    command = [attn_run, model, "--threads=1", "--explain"]
    for info, array in zip(graph.input, inputs):
        path = os.path.join(folder, f"input-{info.name}.npy")
        save(path, array)
        command.append(f"--input={info.name}={path}")
    results = [os.path.join(folder, f"output-{info.name}.npy")
               for info in graph.output]
    command += [f"--output={path}" for path in results]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        reason = done.stderr.strip().split("\n")[0]
        reason = re.sub(r"^.*?error: ", "", reason)
        status = "unsupported" if done.returncode == 2 and \
            "not supported" in reason else "failed"
        return status, reason or f"exit code {done.returncode}", False
    for path, expected in zip(results, outputs):
        expected = np.asarray(expected)
        try:
            compare(load(path, expected.dtype), expected, case.rtol, case.atol)
        except AssertionError as error:
            text = " ".join(str(error).split())
            return "failed", os.path.basename(path) + ": " + text[:300], False
    return "passed", "", "attention fused" in done.stdout


def run_case(attn_run, work, case):
    node = case.model.graph.node[0]
    folder = os.path.join(work, case.name)
    # A result of an earlier run must not pass for one of this run.
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = os.path.join(folder, "model.onnx")
    with open(model, "wb") as file:
        file.write(case.model.SerializeToString())
    fused = False
    for inputs, outputs in case.data_sets:
        status, reason, fused = run_data_set(
            attn_run, model, case.model.graph, folder, inputs, outputs, case)
        if status != "passed":
            return Result(node.op_type, case.name, status, reason, fused)
    return Result(node.op_type, case.name, "passed", "", fused)


def print_table(results):
    print(f"{'operator':20}{'cases':>7}{'passed':>8}{'unsupported':>13}"
          f"{'failed':>8}{'fused':>7}")
    for op in EXPECTED:
        own = [r for r in results if r.op == op]
        counts = collections.Counter(r.status for r in own)
        fused = sum(r.fused for r in own) if "Attention" in op else ""
        print(f"{op:20}{len(own):7}{counts['passed']:8}"
              f"{counts['unsupported']:13}{counts['failed']:8}{fused:>7}")
    reasons = collections.Counter(
        (r.op, re.sub(r"^node \S+ \(\S+\): ", "", r.reason))
        for r in results if r.status == "unsupported")
    for (op, reason), count in reasons.items():
        print(f"unsupported: {op}, {count} cases: {reason}")
    for result in results:
        if result.status == "failed":
            print(f"failed: {result.name}: {result.reason}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attn-run", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    everything = collect()
    counts = collections.Counter(
        case.model.graph.node[0].op_type for case in everything.values())
    good = True
    for op, expected in EXPECTED.items():
        if counts[op] != expected:
            print(f"error: {op}: expected {expected} cases, got {counts[op]}")
            good = False
    cases = [case for name, case in everything.items()
             if re.search(options.filter, name)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(
            lambda case: run_case(options.attn_run, options.work, case), cases))
    if options.verbose:
        for result in results:
            print(f"{result.status}: {result.name}"
                  + (" (fused)" if result.fused else "")
                  + (f": {result.reason}" if result.reason else ""))
    print_table(results)
    for result in results:
        good &= result.status == "passed"
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
