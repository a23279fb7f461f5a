# ===- memory-without-scores.py - No scores in memory ----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   memory-without-scores.py TOOLS SCRATCH
#
# Attention of one head over S = 16384 keys, unmasked: its scores would take
# 1 GiB. The whole process must stay under 200 MiB, and what a run allocates
# must not depend on S.

import json
import os
import subprocess
import sys

tools, scratch = sys.argv[1:]
GRAPH = """
!t = tensor<1x1x?x64xf32>
!s = tensor<1x1x?x?xf32>
func.func @attention(%q: !t {attn.dims = ["", "", "S", ""]}, %k: !t {attn.dims = ["", "", "S", ""]},
                     %v: !t {attn.dims = ["", "", "S", ""]}) -> !t {
  %s = attn.qk %q, %k : !t, !t -> !s
  %c = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %c : !s
  %o = attn.weighted_sum %p, %v : !s, !t -> !t
  return %o : !t
}
"""
LIMIT = 200 << 20

source = os.path.join(scratch, "memory.mlir")
with open(source, "w") as file:
    file.write(GRAPH)


def run(length):
    report = os.path.join(scratch, "memory.json")
    subprocess.run([os.path.join(tools, "attn-run"), source, "--require-fused", "--threads=1",
                    "--dim=S=%d" % length, "--input=random", "--input=random", "--input=random",
                    "--bench-json=" + report], check=True, stdout=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file)


short, long = run(2048), run(16384)
print("S = 16384: peak %.1f MiB, %d bytes planned (S = 2048: %.1f MiB, %d bytes)" %
      (long["peak_rss_bytes"] / 2**20, long["planned_bytes"],
       short["peak_rss_bytes"] / 2**20, short["planned_bytes"]))
assert long["outputs"][0]["shape"] == [1, 1, 16384, 64], long["outputs"]
assert 0 < long["peak_rss_bytes"] < LIMIT, "the process takes more than 200 MiB"
# At most packed keys and values, which grow with S; scores would grow with its square.
assert long["planned_bytes"] <= 8 * short["planned_bytes"], "planned bytes grow faster than S"
assert long["planned_bytes"] < 16 << 20, "more than a packed copy of keys and values"
