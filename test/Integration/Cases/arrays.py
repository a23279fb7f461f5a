# ===- arrays.py - Small arrays, their npy files and their patterns -----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# The tests run on machines with nothing but Python's standard library.
#
# ===------------------------------------------------------------------------===#

import ast
import math
import struct

# MLIR's name of a type: the descriptor of npy, and the letter of struct. bf16 is
# written as two bytes without a meaning, as NumPy does for extension types.
TYPES = {
    "f64": ("<f8", "d"),
    "f32": ("<f4", "f"),
    "f16": ("<f2", "e"),
    "bf16": ("|V2", "H"),
    "i1": ("|b1", "?"),
    "i32": ("<i4", "i"),
    "i64": ("<i8", "q"),
}


class Array:
    """Values in row-major order, with a shape and an MLIR element type."""

    def __init__(self, shape, values, dtype="f32"):
        self.shape, self.values, self.dtype = list(shape), list(values), dtype
        assert len(self.values) == math.prod(self.shape), self.shape

    def cast(self, dtype):
        return Array(self.shape, self.values, dtype)

    def rows(self):
        """The values as lists of the innermost extent."""
        n = self.shape[-1]
        return [self.values[i : i + n] for i in range(0, len(self.values), n)]

    def digest(self):
        """Sum, weighted sum, first and last value."""
        v = self.values
        return {
            "sum": math.fsum(v),
            "wsum": math.fsum(x * ((n % 7) + 1) / 7 for n, x in enumerate(v)),
            "first": v[0],
            "last": v[-1],
        }


def pattern(seed, shape):
    """Reproducible values in [-1.5, 1.5], exact in f32, f16 and bf16."""

    def at(i):
        return (((3 * i * i + 37 * i + 13 * (i // 97) + 29 * seed + 11) % 97) - 48) / 32

    return Array(shape, [at(i) for i in range(math.prod(shape))])


def full(shape, value, dtype="f32"):
    return Array(shape, [value] * math.prod(shape), dtype)


def _encode(array):
    if array.dtype != "bf16":
        return struct.pack(f"<{len(array.values)}{TYPES[array.dtype][1]}", *array.values)
    words = struct.unpack(
        f"<{len(array.values)}I",
        struct.pack(f"<{len(array.values)}f", *array.values))
    # To nearest, ties to even; the tests hold no NaN in bf16.
    return struct.pack(f"<{len(words)}H",
                       *[(w + 0x7FFF + ((w >> 16) & 1)) >> 16 for w in words])


def write_npy(path, array):
    header = str({
        "descr": TYPES[array.dtype][0],
        "fortran_order": False,
        "shape": tuple(array.shape),
    })
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + _encode(array))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10 : 10 + length].decode())
    shape, count = header["shape"], math.prod(header["shape"])
    dtype = next(t for t, (d, _) in TYPES.items() if d[1:] == header["descr"][1:])
    values = struct.unpack(f"<{count}{TYPES[dtype][1]}", data[10 + length :])
    if dtype == "bf16":
        values = struct.unpack(f"<{count}f",
                               struct.pack(f"<{count}I", *[v << 16 for v in values]))
    return Array(shape, values, dtype)


def read_bits(path):
    """The bytes of the values, for comparisons to the bit."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<H", data[8:10])
    return data[10 + length :]
