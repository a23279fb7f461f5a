# ===- nested.py - An ONNX model of graphs in graphs --------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#

import sys


def field(number, contents):
    """A message as a field of another, from its end to its beginning."""
    length, head = len(contents), bytes([number << 3 | 2])
    while True:
        head += bytes([length & 127 | (128 if length > 127 else 0)])
        length >>= 7
        if not length:
            return head


# The innermost bytes stay where they are; only heads are put before them.
heads, size = [], 0


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


# graph.node.attribute.g, and so on; the model's graph at last.
for level in reversed(range(int(sys.argv[1]))):
    number = (1, 5, 6)[level % 3]
    heads.append(field(number, Sized(size)))
    size += len(heads[-1])
heads.append(field(7, Sized(size)))
sys.stdout.buffer.write(b"".join(reversed(heads)))
