# ===- time-follows-tokens.py - Linear attention costs its tokens ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   time-follows-tokens.py TOOLS SCRATCH
#
# The time of linear attention grows with its tokens, not with their square; and
# where a chunk becomes matrix products, these take no longer than the recurrence.

import os
import re
import subprocess

import relations
from relations import Timed, ratio

GRAPH = """
!t = tensor<?x4x?x{dim}xf32>
!g = tensor<?x4x?xf32>
func.func @linear(%q: !t {{attn.dims = ["B", "", "S", ""]}}, %k: !t {{attn.dims = ["B", "", "S", ""]}},
                  %v: !t {{attn.dims = ["B", "", "S", ""]}}) -> !t {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %n = tensor.dim %q, %c2 : !t
  %gate = arith.constant -0.05 : f32
  %e = tensor.empty(%b, %n) : !g
  %g = linalg.fill ins(%gate : f32) outs(%e : !g) -> !g
  %o = tensor.empty(%b, %n) : !t
  %r = attn.linear_attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) scale 0.125 decay(%g : !g) {schedule} -> !t
  return %r : !t
}}
"""


def linear(name, length, batch=1, dim=64, schedule=""):
    timed = Timed(name, length, batch=batch)
    with open(timed.graph.source, "w") as file:
        file.write(GRAPH.format(dim=dim, schedule=schedule))
    return timed


def schedule_of(graph):
    """What the compiler chooses here."""
    text = subprocess.run([os.path.join(relations.tools, "attn-opt"), graph.source,
                           "--attn-compile-to=schedule"],
                          check=True, capture_output=True, text=True).stdout
    return re.search(r"schedule\(<kernel = chunked_state.*?>\)", text).group(0)


grown = ratio(linear("linear-1x4096", 4096), linear("linear-16x256", 256, batch=16))
assert grown < 2, "one long sequence takes longer than as many tokens in short ones"
for dim in 64, 128:
    chunks = linear("linear-chunks-%d" % dim, 2048, dim=dim)
    schedule = schedule_of(chunks.graph).replace("chunked_state", "recurrent_state")
    steps = linear("linear-steps-%d" % dim, 2048, dim=dim, schedule=schedule)
    # They gain by the width of vectors: below AVX-512 they are about even.
    bound = 1.25 if "lanes = 16" in schedule else 1.6
    assert ratio(chunks, steps) < bound, "chunks take longer than single tokens"
