# ===- exits.py - Runs a command that must fail in a certain way -------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   exits.py CODE COMMAND...
#
# Fails unless COMMAND exits with CODE. What it wrote to stderr goes to stdout.
# Bad usage and a missing device (1, 77) must say so in one line, and print
# nothing else.
#
# ===------------------------------------------------------------------------===#

import subprocess
import sys

code, command = int(sys.argv[1]), sys.argv[2:]
result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
errors = result.stderr.decode()
sys.stdout.write(errors)
if result.returncode != code:
    sys.exit("exit code %d, expected %d" % (result.returncode, code))
if code in (1, 77):
    if len(errors.splitlines()) != 1 or not errors.endswith("\n"):
        sys.exit("expected one line of error text")
    if result.stdout:
        sys.exit("expected nothing on stdout")
