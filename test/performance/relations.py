# ===- relations.py - Graphs that are timed in turn ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# What the relations share. Machines are shared and clocks change, so things that
# are compared run in turn, several times, and only their best times count.

import json
import os
import subprocess
import sys

tools, scratch = sys.argv[1:]
SKIPPED = 77

GRAPH = """
!q = tensor<?x{heads}x{rows}x64x{type}>
!k = tensor<?x{key_heads}x?x64x{type}>
!s = tensor<?x{heads}x{rows}x?xf32>
func.func @attention(%q: !q {{attn.dims = ["B", "", "{rows_name}", ""]}}, %k: !k {{attn.dims = ["B", "", "S", ""]}},
                     %v: !k {{attn.dims = ["B", "", "S", ""]}}) -> !q {{
  {inputs}
  %s = attn.qk {query}, {key} : !q, !k -> !s
  %c = attn.scale %s by 0.125 : !s
  {ops}
  %p = attn.masked_softmax %c {mask} : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}}
"""


class Graph:
    """Attention over keys of 64 numbers, in a file. `ops` make what `mask` reads, `inputs` make `query` and `key`."""

    def __init__(self, name, mask="", ops="", type="f32", heads=2, key_heads=2, rows="?",
                 inputs="", query="%q", key="%k"):
        self.name = name
        self.source = os.path.join(scratch, name + ".mlir")
        with open(self.source, "w") as file:
            file.write(GRAPH.format(heads=heads, key_heads=key_heads, rows=rows, type=type, mask=mask,
                                    ops=ops, rows_name="S" if rows == "?" else "",
                                    inputs=inputs, query=query, key=key))

    def run(self, length, *options, batch=1):
        subprocess.run([os.path.join(tools, "attn-run"), self.source, "--require-fused",
                        "--dim=B=%d" % batch, "--dim=S=%d" % length, "--input=random:seed=1",
                        "--input=random:seed=2", "--input=random:seed=3",
                        "--cache-dir=" + os.path.join(scratch, "relations.cache"), *options],
                       check=True, stdout=subprocess.DEVNULL)


def has_amx():
    """Whether the compiler uses tiles of bf16 here."""
    graph = Graph("has-amx", type="bf16")
    text = subprocess.run([os.path.join(tools, "attn-opt"), graph.source, "--attn-compile-to=schedule"],
                          check=True, capture_output=True, text=True).stdout
    return "kernel = bf16_tiles" in text


class Timed:
    """A graph at one length on a number of threads, and its best time so far.

    On a machine with more to do than cores, what runs longer than a time slice is
    interrupted at every run, and what is shorter is not. So things that should
    take equally long are compared wherever possible.
    """

    def __init__(self, name, length, threads=1, batch=1, **graph):
        self.name, self.length, self.threads, self.batch = name, length, threads, batch
        self.best = float("inf")
        self.graph = Graph(name, **graph)

    def run(self):
        report = os.path.join(scratch, self.name + ".json")
        self.graph.run(self.length, "--threads=%d" % self.threads, "--repeat=8",
                       "--bench-json=" + report, batch=self.batch)
        with open(report) as file:
            self.best = min(self.best, json.load(file)["min_ms"])


def ratio(slow, fast, rounds=5):
    """How much longer `slow` takes than `fast`, both at their best."""
    for _ in range(rounds):
        slow.run()
        fast.run()
    result = slow.best / fast.best
    print("%s: %.3f ms, %s: %.3f ms, ratio %.2f" %
          (slow.name, slow.best, fast.name, fast.best, result))
    return result


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)
