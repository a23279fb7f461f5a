# ===- time-follows-mask.py - Hidden blocks cost nothing -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   time-follows-mask.py TOOLS SCRATCH
#
# Windows: four times the length takes about as long as four sequences, where full
# attention takes four times as long. Eight documents: an eighth of the causal
# pairs. The first keys and a window, which are no range: as few.

from relations import Timed, ratio

DOCUMENTS = """causal(top_left) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %length = arith.constant 512 : index
    %row = arith.divui %i, %length : index
    %column = arith.divui %j, %length : index
    %visible = arith.cmpi eq, %row, %column : index
    attn.yield %visible : i1
  }"""
SINKS = """causal(top_left) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %few = arith.constant 4 : i32
    %width = arith.constant 256 : i32
    %row = arith.index_cast %i : index to i32
    %column = arith.index_cast %j : index to i32
    %distance = arith.subi %row, %column : i32
    %first = arith.cmpi slt, %column, %few : i32
    %near = arith.cmpi ult, %distance, %width : i32
    %visible = arith.ori %first, %near : i1
    attn.yield %visible : i1
  }"""
WINDOW = "causal(top_left) window[255, 0]"

grown = ratio(Timed("window-8k", 8192, mask=WINDOW, heads=1, key_heads=1),
              Timed("window-2k", 2048, mask=WINDOW, heads=1, key_heads=1, batch=4),
              rounds=8)
assert grown < 1.5, "the time of a window grows faster than the length"
saved = ratio(Timed("causal-4k", 4096, mask="causal(top_left)"),
              Timed("documents-4k", 4096, mask=DOCUMENTS))
assert saved > 3, "documents of an eighth of the pairs save less than two thirds of the time"
saved = ratio(Timed("causal-4k", 4096, mask="causal(top_left)"),
              Timed("sinks-4k", 4096, mask=SINKS))
assert saved > 3, "the first keys and a window of an eighth of the pairs save less than two thirds of the time"
