# ===- fences.py - Runs what the documents show ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   fences.py commands FILE.md BIN      every `sh` block that calls build/bin/...
#   fences.py graph FILE.md FILE.mlir   the `mlir` block is a part of that file
#   fences.py phases FILE.md BIN MLIR   every `mlir phase=...` block
#   fences.py labels FILE.md GENERATED  constraint labels of the guide and of the
#                                       generated reference
#
# A `sh` block runs with bash in the root of the repository and must succeed. A
# `text` block that follows it is its output, where numbers and instruction sets
# stand for any others: machines differ. Each line of a `phase` block must occur,
# in order, in what attn-opt prints for x86-64-v4; `...` stands for anything, SSA
# names for any others, and lines of `...` alone for lines left out.
#
# ===------------------------------------------------------------------------===#

import re
import subprocess
import sys
from pathlib import Path


def fences(path):
    """(info string, text) of each fenced block."""
    text = Path(path).read_text()
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def fail(message):
    sys.exit("fences.py: " + message)


def mask(text):
    text = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    return re.sub(r"\((avx512|avx2|portable)\)", "(ISA)", text)


def check_commands(document, bin_folder):
    root = Path(__file__).resolve().parents[3]
    blocks = fences(document)
    ran = 0
    for (info, text), (next_info, expected) in zip(blocks, blocks[1:] + [("", "")]):
        if info != "sh" or "build/bin/" not in text:
            continue
        script = text.replace("build/bin/", bin_folder + "/")
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=root,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            fail(f"exit code {result.returncode} of\n{text}{result.stdout}")
        if next_info == "text" and mask(result.stdout) != mask(expected):
            fail(f"{document} shows\n{expected}but\n{text}prints\n{result.stdout}")
        ran += 1
    print(f"{ran} commands ran")


def check_graph(document, source):
    lines = [line.strip() for line in Path(source).read_text().splitlines()]
    blocks = [text for info, text in fences(document) if info == "mlir"]
    for text in blocks:
        for line in text.splitlines():
            if line.strip() not in lines:
                fail(f"'{line}' of {document} is not in {source}")
    print(f"{len(blocks)} graph is current")


def anonymous(line):
    return re.sub(r"[%^][\w#:]+", "%", line)


def pattern(line):
    parts = [re.escape(anonymous(part)) for part in line.strip().split("...")]
    return re.compile(".*".join(parts))


def check_phases(document, bin_folder, source):
    checked = []
    for info, text in fences(document):
        match = re.fullmatch(r"mlir phase=(\w+)", info)
        if not match:
            continue
        phase = match.group(1)
        result = subprocess.run(
            [bin_folder + "/attn-opt", source, "--attn-compile-to=" + phase,
             "--target=x86-64-v4"], stdout=subprocess.PIPE, text=True, check=True)
        lines = iter(anonymous(line.strip()) for line in result.stdout.splitlines())
        for wanted in text.splitlines():
            if wanted.strip() in ("", "..."):
                continue
            if not any(pattern(wanted).fullmatch(line) for line in lines):
                fail(f"after {phase}, attn-opt no longer prints '{wanted.strip()}'")
        checked.append(phase)
    print("phases: " + " ".join(checked))


def check_labels(guide, generated):
    reference = {}
    for line in Path(generated).read_text().splitlines():
        if match := re.match(r"### `(attn\.\w+)`", line):
            labels = reference.setdefault(match.group(1), set())
        elif line.startswith("#"):
            labels = set()
        elif match := re.match(r"\s*[-*] (C\d+):", line):
            labels.add(match.group(1))
    rows = {}
    for line in Path(guide).read_text().splitlines():
        if match := re.match(r"\| `(attn\.\w+)` \|", line):
            rows.setdefault(match.group(1), set()).update(re.findall(r"\bC\d+\b", line))
    for op in sorted(reference.keys() | rows.keys()):
        if reference.get(op) != rows.get(op):
            fail(f"{op}: constraints {sorted(reference.get(op, ()))} in the reference, "
                 f"{sorted(rows.get(op, ()))} in {guide}")
    print(f"{len(rows)} ops agree")


def main():
    checks = {"commands": check_commands, "graph": check_graph, "phases": check_phases,
              "labels": check_labels}
    checks[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
