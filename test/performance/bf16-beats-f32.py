# ===- bf16-beats-f32.py - AMX must be worth it ----------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   bf16-beats-f32.py TOOLS SCRATCH
#
# The same attention in bf16 and f32, where AMX tiles may be used.

from relations import Timed, has_amx, ratio, skip

if not has_amx():
    skip("no use of amx_bf16 on this machine")
gain = ratio(Timed("f32-2k", 2048), Timed("bf16-2k", 2048, type="bf16"))
assert gain > 1.2, "bf16 is not faster than f32"
# Decoding reads half the bytes, and arithmetic must not take what that spares.
decode = dict(heads=8, key_heads=2, rows=1)
gain = ratio(Timed("f32-decode", 65536, **decode), Timed("bf16-decode", 65536, type="bf16", **decode))
assert gain > 1.3, "decoding in bf16 is not faster than in f32"
