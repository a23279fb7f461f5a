# ===- threads-keep-bits.py - The number of threads changes no bit ---------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   threads-keep-bits.py TOOLS SCRATCH
#
# Runs cases of every kind of task on 1 to 4 threads and compares the results
# byte by byte.

import os
import subprocess
import sys

tools, scratch = sys.argv[1:]
CASES = ["minilm-128", "cross-77", "window-4k", "vit-197", "decode-32k", "window-4k-bf16",
         "decode-32k-bf16", "tiny-bool", "tiny-alibi", "tiny-softcap", "tiny-prefix", "tiny-bf16"]


def result(case, threads):
    path = os.path.join(scratch, "threads-%s-%d.npy" % (case, threads))
    subprocess.run([os.path.join(tools, "attn-bench"), "--case=" + case, "--brief",
                    "--threads=%d" % threads, "--repeat=1", "--warmup=0", "--output=" + path,
                    "--cache-dir=" + os.path.join(scratch, "threads.cache")],
                   check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        data = file.read()
    os.remove(path)
    return data


for case in CASES:
    one = result(case, 1)
    assert any(one[128:]), case + ": the result is all zeros"
    for threads in (2, 3, 4):
        if result(case, threads) != one:
            sys.exit("%s: %d threads give other bits than one" % (case, threads))
    print("%s: %d bytes equal on 1, 2, 3 and 4 threads" % (case, len(one)))
