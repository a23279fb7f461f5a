# ===- rope-costs-little.py - Rotary embeddings beside attention -----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   rope-costs-little.py TOOLS SCRATCH
#
# Rotated queries and keys against attention alone. A pass over memory for each of
# them, or an angle for each head, would cost several times as much.

from relations import Timed, has_amx, ratio


def check(type, layout, bound):
    shape = dict(heads=8, key_heads=2, mask="causal(top_left)", type=type)
    rope = "%r{0} = attn.rope %{0} {1} rotary_dim 64 : !{0}\n  "
    rotated = dict(inputs=rope.format("q", layout) + rope.format("k", layout), query="%rq", key="%rk")
    cost = ratio(Timed("rope-%s-%s" % (layout, type), 1024, **shape, **rotated),
                 Timed("no-rope-" + type, 1024, **shape))
    assert cost < bound, "%s rope in %s costs too much" % (layout, type)


check("f32", "half", 1.2)
check("f32", "interleaved", 1.2)
# Attention itself takes a third of the time there.
if has_amx():
    check("bf16", "half", 1.5)
