# ===- no-copies-of-inputs.py - What the benchmark cases allocate ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   no-copies-of-inputs.py TOOLS SCRATCH
#
# Every case of the benchmark may allocate one packed copy of K and V, and 4 MiB
# a thread. Scores would take far more.

import json
import os
import subprocess
import sys

tools, scratch = sys.argv[1:]
THREADS = 2
report = os.path.join(scratch, "bytes.json")
subprocess.run([os.path.join(tools, "attn-bench"), "--suite=all", "--brief", "--repeat=1",
                "--warmup=0", "--threads=%d" % THREADS, "--json=" + report],
               check=True, stdout=subprocess.DEVNULL)
with open(report) as file:
    cases = json.load(file)["cases"]
assert len(cases) == 26, len(cases)
for case in cases:
    element = {"f64": 8, "f32": 4, "bf16": 2}[case["type"]]
    packed = (case["batch"] * case["key_heads"] * case["keys"] *
              (case["head_dim"] + case["value_dim"]) * element)
    allowed = packed + THREADS * (4 << 20)
    print("%s: %d bytes, allowed %d" % (case["name"], case["planned_bytes"], allowed))
    assert 0 < case["planned_bytes"] <= allowed, case["name"] + " allocates too much"
