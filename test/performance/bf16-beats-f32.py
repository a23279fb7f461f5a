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
# The same attention in bf16 and f32, where this CPU has AMX tiles.

from relations import Timed, ratio, skip

with open("/proc/cpuinfo") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()
if "amx_bf16" not in flags:
    skip("this CPU has no amx_bf16")
gain = ratio(Timed("f32-2k", 2048), Timed("bf16-2k", 2048, type="bf16"))
assert gain > 1.2, "bf16 is not faster than f32"
