# ===- time-follows-cache.py - Decoding is linear in the cache -------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   time-follows-cache.py TOOLS SCRATCH
#
# One new row against a long cache of keys: four times the length takes about as
# long as four short caches, and a second thread does not make it slower.

import os

from relations import Timed, ratio, skip

DECODE = dict(heads=16, key_heads=4, rows=1)
grown = ratio(Timed("decode-32k", 32768, **DECODE), Timed("decode-8k", 8192, batch=4, **DECODE))
assert grown < 2, "the time of a decoding step grows faster than its keys"
assert grown > 0.5, "a longer cache takes no more time: something is not computed"
if len(os.sched_getaffinity(0)) < 2:
    skip("two threads need two cores")
slower = ratio(Timed("decode-32k-on-2", 32768, threads=2, **DECODE),
               Timed("decode-32k-on-1", 32768, **DECODE))
assert slower < 1.3, "two threads are slower than one"
