# ===- time-follows-sequences.py - Packed sequences cost their squares -----===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   time-follows-sequences.py TOOLS SCRATCH
#
# Sequences that are packed into one row take about as long as a batch of them, not
# as long as the square of the row: with one packing, and causal from their ends.

from relations import Timed, ratio

PROGRAM = """visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0 : index
    %row = tensor.extract %ends[%zero, %i] : tensor<1x?xi32>
    %key = tensor.extract %ends[%zero, %j] : tensor<1x?xi32>
    %visible = arith.cmpi sle, %key, %row : i32
    attn.yield %visible : i1
  }"""


def packed(name, lengths, causal=False):
    bounds = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    t = "tensor<%dxi32>" % len(bounds)
    ops = """%%cu = arith.constant dense<%s> : %s
  %%two = arith.constant 2 : index
  %%tokens = tensor.dim %%q, %%two : !q
  %%ids = attn.sequence_ids %%cu length(%%tokens) : %s -> tensor<1x?xi32>
  %%ends = attn.sequence_positions %%cu length(%%tokens) from_end : %s -> tensor<1x?xi32>""" % (
        bounds, t, t, t)
    mask = "segments(%ids, %ids : tensor<1x?xi32>, tensor<1x?xi32>) "
    return Timed(name, bounds[-1], ops=ops, mask=mask + (PROGRAM if causal else ""))


# The square of the row has 16 times the pairs of the batch.
batch = Timed("batch-16x512", 512, batch=16)
grown = ratio(packed("packed-16x512", [512] * 16), batch)
assert grown < 2, "packed sequences take longer than a batch of them"
# Two sequences of 1024 and 24 of 256: an eighth fewer pairs than the batch.
uneven = ratio(packed("packed-uneven", [1024, 1024] + [256] * 24), batch)
assert uneven < 2, "the time of uneven sequences is not that of their squares"
saved = ratio(packed("packed-causal-1x4096", [4096], True),
              packed("packed-causal-8x512", [512] * 8, True))
assert saved > 3, "eight sequences of an eighth of the pairs save less than two thirds"
