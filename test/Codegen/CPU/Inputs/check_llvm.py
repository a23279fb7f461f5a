# ===- check_llvm.py - No calls and no allocations where tasks run ------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# Reads the `llvm` phase. A task function, with all of its loops, holds no call
# and no allocation. Elsewhere an alloca stands in an entry block, before any
# branch, and nothing but the runtime and the module's own functions is called.
#
# ===------------------------------------------------------------------------===#

import re
import sys

RUNTIME = re.compile(r"attnParallelFor|_mlir_memref_to_llvm_(alloc|free)")
MATH = re.compile(r"llvm\.intr\.(exp|exp2|exp10|log|log2|log10|pow|tan|tanh)\b")
FAST = re.compile(r"fastmath(Flags)? ?(=|<)[^>]*\b(fast|nnan|ninf)\b")


def main():
    bad, tasks, function, branched = [], 0, None, False
    lines = sys.stdin.read().splitlines()
    own = {m.group(1) for l in lines for m in [re.search(r"llvm\.func .*@(\w+)\(.*\{$", l)] if m}
    for number, line in enumerate(lines, 1):
        if match := re.search(r"llvm\.func .*@(\w+)\(", line):
            function, branched = match.group(1), False
            is_task = re.search(r"_task_\d+$", function) is not None
            tasks += is_task
        branched |= re.match(r"\s*(\^bb|llvm\.(br|cond_br)\b)", line) is not None
        called = re.search(r"llvm\.call (?:[a-z]+ )*@(\w+)", line)
        wrong = (
            (called and is_task)
            or (called and not RUNTIME.match(called.group(1)) and called.group(1) not in own)
            or ("llvm.alloca" in line and (is_task or branched))
            or MATH.search(line)
            or FAST.search(line)
            or ("--no-fma" in sys.argv and re.search(r"llvm\.intr\.fma\b", line)))
        if wrong:
            bad.append(f"line {number}, @{function}: {line.strip()}")
    print("\n".join(bad[:10]))
    if not tasks:
        print("no task function was found")
    return 1 if bad or not tasks else 0


sys.exit(main())
