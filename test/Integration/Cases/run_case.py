# ===- run_case.py - Runs one case of attention systems' faults ---------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# usage: run_case.py --attn-run=PATH --work=FOLDER NAME
#        run_case.py --list
#
# A case builds graphs and inputs and states what must come out. Each graph runs
# on every target that this host can execute, is compared with the expected
# numbers, and with the f64 twin (`--check`).
#
# ===------------------------------------------------------------------------===#

import argparse
import json
import math
import os
import subprocess
import sys

from arrays import Array, read_bits, read_npy, write_npy

TARGETS = ["x86-64-v4", "x86-64-v3", "x86-64"]
EXIT_NO_DEVICE = 77
TOLERANCE = {"f32": 1e-5, "f16": 1.5e-3, "bf16": 1e-2, "f64": 1e-9}


class Failure(Exception):
    pass


def type_of(array, dynamic=()):
    """The tensor type of an array; extents at positions `dynamic` are `?`."""
    dims = ["?" if i in dynamic else str(n) for i, n in enumerate(array.shape)]
    return f"tensor<{'x'.join(dims + [array.dtype])}>"


def close(got, expected, tolerance):
    expected = float(expected)
    if math.isnan(expected):
        return math.isnan(got)
    if math.isinf(expected):
        return got == expected
    return abs(got - expected) <= tolerance


def flatten(nested):
    if isinstance(nested, (list, tuple)):
        return [x for item in nested for x in flatten(item)]
    return [float(nested)]


def expect(array, expected, tolerance=None, what="result"):
    """Compares all values; `expected` is nested lists or one value for all."""
    tolerance = TOLERANCE[array.dtype] if tolerance is None else tolerance
    wanted = flatten(expected)
    if not isinstance(expected, (list, tuple)):
        wanted *= len(array.values)
    if len(wanted) != len(array.values):
        raise Failure(f"{what}: {len(array.values)} values, expected {len(wanted)}")
    for n, (x, y) in enumerate(zip(array.values, wanted)):
        if not close(x, y, tolerance):
            raise Failure(f"{what}: value {n} is {x!r}, expected {y!r} within {tolerance}")


def expect_digest(array, sum, wsum, first, last, what="result"):
    got = array.digest()
    for key, value, tolerance in [("sum", sum, 1e-3), ("wsum", wsum, 1e-3),
                                  ("first", first, 1e-5), ("last", last, 1e-5)]:
        if not close(got[key], value, tolerance):
            raise Failure(f"{what}: {key} is {got[key]!r}, expected {value!r}")


class Runner:
    """What a case sees: runs graphs, keeps files apart, knows the targets."""

    def __init__(self, attn_run, work):
        self.attn_run, self.work, self.count = attn_run, work, 0
        os.makedirs(work, exist_ok=True)
        self.targets = [t for t in TARGETS if self._executes(t)]

    def _executes(self, target):
        graph = self.write("probe.mlir", "func.func @f(%x: f32) -> f32 { return %x : f32 }\n")
        done = self._call([graph, f"--target={target}", "--input=0"])
        return done.returncode != EXIT_NO_DEVICE

    def _call(self, arguments):
        return subprocess.run([self.attn_run] + arguments, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def attempt(self, graph, inputs, *, target="native", fused=True, check=True,
                threads=None, results=1, schedule=None):
        """Runs `graph`; returns (exit code, stderr, paths of results)."""
        self.count += 1
        arguments = [self.write("graph.mlir", graph), f"--target={target}",
                     f"--cache-dir={self.work}/cache"]
        for n, value in enumerate(inputs):
            if isinstance(value, Array):
                path = os.path.join(self.work, f"in{n}.npy")
                write_npy(path, value)
                value = path
            arguments.append(f"--input={value}")
        paths = [os.path.join(self.work, f"out{self.count}-{n}.npy") for n in range(results)]
        arguments += [f"--output={path}" for path in paths]
        arguments += ["--require-fused"] if fused else []
        arguments += ["--check"] if check else []
        arguments += [f"--threads={threads}"] if threads else []
        arguments += [f"--schedule={schedule}"] if schedule else []
        done = self._call(arguments)
        if done.returncode < 0:
            raise Failure(f"attn-run died of signal {-done.returncode} on {target}")
        return done.returncode, done.stdout + done.stderr, paths

    def run(self, graph, inputs, **options):
        """Runs `graph`, which must succeed; returns the results."""
        code, text, paths = self.attempt(graph, inputs, **options)
        if code:
            raise Failure(f"attn-run exits with {code} on "
                          f"{options.get('target', 'native')}:\n{text}\n{graph}")
        return [read_npy(path) for path in paths]

    def bits(self, graph, inputs, **options):
        """As `run`, but the bytes of the results."""
        code, text, paths = self.attempt(graph, inputs, **options)
        if code:
            raise Failure(f"attn-run exits with {code}:\n{text}")
        return [read_bits(path) for path in paths]

    def on_all(self, graph, inputs, verify, **options):
        """Runs on every target; `verify(results...)` raises a Failure."""
        for target in self.targets:
            results = self.run(graph, inputs, target=target, **options)
            try:
                verify(*results)
            except Failure as failure:
                raise Failure(f"{target}: {failure}\n{graph}") from None

    def rejects(self, graph, inputs, *words):
        """The graph or its inputs must be refused with a text of `words`."""
        code, text, _ = self.attempt(graph, inputs, fused=False, check=False)
        if code not in (1, 2):
            raise Failure(f"exit code {code}, expected 1 or 2:\n{text}")
        for word in words:
            if word not in text:
                raise Failure(f"the message lacks '{word}':\n{text}")

    def statistics(self, graph, inputs, **options):
        """Planned bytes of one run with generated inputs."""
        path = os.path.join(self.work, "statistics.json")
        done = self._call([self.write("graph.mlir", graph), f"--bench-json={path}",
                           "--repeat=1", "--warmup=0", "--require-fused"] +
                          [f"--input={i}" for i in inputs])
        if done.returncode:
            raise Failure(done.stderr)
        with open(path) as file:
            return json.load(file)


def main():
    import cases  # noqa: F401 (registers its cases)
    import position_cases  # noqa: F401
    import shape_cases  # noqa: F401
    from graphs import CASES

    parser = argparse.ArgumentParser()
    parser.add_argument("--attn-run")
    parser.add_argument("--work")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="?")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    case = CASES[arguments.name]
    try:
        case(Runner(arguments.attn_run, os.path.join(arguments.work, arguments.name)))
    except Failure as failure:
        print(f"{arguments.name}: {case.__doc__}\n{failure}", file=sys.stderr)
        return 1
    print(f"{arguments.name}: {case.__doc__}")
    return 0


if __name__ == "__main__":
    # Cases import this file's names: one module, whatever it was started as.
    sys.modules["run_case"] = sys.modules["__main__"]
    sys.exit(main())
