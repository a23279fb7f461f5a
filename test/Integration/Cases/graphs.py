# ===- graphs.py - Graphs and inputs that cases share ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# The attention that most cases run, as a user writes it and as the fused op, and
# inputs whose results are known.
#
# ===------------------------------------------------------------------------===#

import math

from arrays import Array, full, pattern
from run_case import type_of

INF, NAN = math.inf, math.nan
LOWEST = -3.40282347e38
CASES = {}


def case(function):
    """Makes a case of a function that takes the runner."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


# ===- Graphs -----------------------------------------------------------------===#


def attention(q, k, v, *, scale=None, scores="", mask="", weights="", extra=(), dynamic=False):
    """The chain as a user writes it. `scores` are lines from %t0 to %s (`S` is
    the type of the scores), `mask` the clauses of the softmax, `weights` lines
    from %p to %w, and `extra` are further (name, type) arguments."""
    lengths = (0, 2) if dynamic else ()
    tq, tk, tv = (type_of(x, lengths) for x in (q, k, v))
    o = Array(q.shape[:3] + v.shape[3:], [0] * math.prod(q.shape[:3] + v.shape[3:]), v.dtype)
    s = ["?" if dynamic else q.shape[0], q.shape[1]] + (
        ["?", "?"] if dynamic else [q.shape[2], k.shape[2]])
    ts = f"tensor<{'x'.join(map(str, s))}xf32>"
    to = type_of(o, lengths)
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    last = "%s" if scores else "%t0"
    arguments = "".join(f", %{name}: {type}" for name, type in extra)
    return f"""func.func @f(%q: {tq}, %k: {tk}, %v: {tv}{arguments}) -> {to} {{
  %qk = attn.qk %q, %k : {tq}, {tk} -> {ts}
  %t0 = attn.scale %qk by {float(scale)!r} : {ts}
  {scores.replace('S', ts)}
  %p = attn.masked_softmax {last} {mask} : {ts}
  {weights.replace('S', ts)}
  %o = attn.weighted_sum {"%w" if weights else "%p"}, %v : {ts}, {tv} -> {to}
  return %o : {to}
}}
"""


def fused(q, k, v, *, scale, mask="", extra=(), clauses=""):
    """The fused op, which also gives the log-sum-exp. `clauses` stand after the
    scale."""
    tq, tk, tv = (type_of(x) for x in (q, k, v))
    b, h, s, _ = q.shape
    to, tl = f"tensor<{b}x{h}x{s}x{v.shape[3]}xf32>", f"tensor<{b}x{h}x{s}xf32>"
    arguments = "".join(f", %{name}: {type}" for name, type in extra)
    region = (f"mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index):\n{mask}\n"
              "attn.yield %visible : i1\n}" if mask else "")
    return f"""func.func @f(%q: {tq}, %k: {tk}, %v: {tv}{arguments}) -> ({to}, {tl}) {{
  %oi = tensor.empty() : {to}
  %li = tensor.empty() : {tl}
  %o:2 = attn.attention ins(%q, %k, %v : {tq}, {tk}, {tv}) outs(%oi, %li : {to}, {tl})
    scale {float(scale)!r} {clauses} {region} -> {to}, {tl}
  return %o#0, %o#1 : {to}, {tl}
}}
"""


def qkv(b, hq, hkv, sq, skv, d, dv=None):
    return (pattern(0, [b, hq, sq, d]), pattern(1, [b, hkv, skv, d]),
            pattern(2, [b, hkv, skv, dv or d]))


def column(values, dtype="f32"):
    """[1, 1, N, 1]."""
    return Array([1, 1, len(values), 1], values, dtype)


def logits(values, weights):
    """q, k, v whose scores are `values` at scale 1, with one feature."""
    return column([1.0]), column(values), column(weights)


def zeros(sq, skv, values, d=4):
    """Equal scores: each row is the mean of its visible `values`."""
    return full([1, 1, sq, d], 0.0), full([1, 1, skv, d], 0.0), column(values)


def booleans(shape, values):
    return Array(shape, [bool(x) for x in values], "i1")
