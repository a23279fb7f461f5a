# ===- batch-keeps-bits.py - The rest of the batch changes no bit ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   batch-keeps-bits.py TOOLS SCRATCH
#
# A batch of one and a batch of three that begins with it (random numbers depend
# on their seed and position only) give the same bits for the one, whatever the
# number of threads.

import os

from relations import Graph, scratch

LENGTHS = """visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %past = arith.cmpi sle, %j, %i : index
    %length = arith.constant 300 : index
    %first = arith.cmpi slt, %j, %length : index
    %visible = arith.andi %past, %first : i1
    attn.yield %visible : i1
  }"""
CASES = [(Graph("batch-f32"), 517), (Graph("batch-bf16", type="bf16"), 517),
         (Graph("batch-masked", mask=LENGTHS), 517),
         (Graph("batch-decode", heads=8, key_heads=2, rows=1), 5003),
         (Graph("batch-decode-bf16", type="bf16", heads=8, key_heads=2, rows=1), 5003)]


def result(graph, length, batch, threads):
    """The numbers of the npy file, without its header."""
    path = os.path.join(scratch, graph.name + ".npy")
    graph.run(length, "--threads=%d" % threads, "--output=" + path, batch=batch)
    with open(path, "rb") as file:
        data = file.read()
    os.remove(path)
    return data[10 + int.from_bytes(data[8:10], "little"):]


for graph, length in CASES:
    one = result(graph, length, 1, 1)
    assert any(one), graph.name + ": the result is all zeros"
    for threads in (1, 2):
        three = result(graph, length, 3, threads)
        assert len(three) == 3 * len(one), graph.name
        assert three[:len(one)] == one, graph.name + ": the batch changes bits"
    print("%s: %d bytes equal alone and in a batch" % (graph.name, len(one)))
