# ===- tensors.py - Makes tensor files for tests, by the standard library ----===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   tensors.py FILE.npy TYPE SHAPE EXPRESSION
#   tensors.py FILE.safetensors NAME TYPE SHAPE EXPRESSION [NAME TYPE ...]
#   tensors.py --print FILE.npy
#   tensors.py --compare FILE.npy SHAPE EXPRESSION TOLERANCE
#
# EXPRESSION is Python in the indices a, b, c, d (of the first four dimensions)
# and n (the position in row-major order), with `inf`, `nan` and `math`. --print
# reads a file back without any code of the project: dtype, shape, values.
# --compare fails unless its shape and each of its values are as expected.
#
# ===------------------------------------------------------------------------===#

import itertools
import json
import math
import struct
import sys

# Our name: (struct format, npy descr, safetensors dtype).
TYPES = {
    "f64": ("d", "<f8", "F64"),
    "f32": ("f", "<f4", "F32"),
    "f16": ("e", "<f2", "F16"),
    "i64": ("q", "<i8", "I64"),
    "i32": ("i", "<i4", "I32"),
    "i8": ("b", "|i1", "I8"),
    "i1": ("?", "|b1", "BOOL"),
}


def evaluate(shape, expression):
    """The extents and the values of a tensor."""
    extents = [int(size) for size in shape.split("x")]
    code = compile(expression, "EXPRESSION", "eval")
    values = []
    for n, indices in enumerate(itertools.product(*map(range, extents))):
        scope = dict(zip("abcd", indices), n=n, inf=math.inf, nan=math.nan, math=math)
        values.append(eval(code, scope))
    return extents, values


def encode(type_name, shape, expression):
    """The extents and the bytes of a tensor."""
    extents, values = evaluate(shape, expression)
    return extents, struct.pack("<%d%s" % (len(values), TYPES[type_name][0]), *values)


def write_npy(path, type_name, shape, expression):
    extents, data = encode(type_name, shape, expression)
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        TYPES[type_name][1], tuple(extents))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


def write_safetensors(path, arguments):
    header, data = {}, b""
    for name, type_name, shape, expression in zip(*[iter(arguments)] * 4):
        extents, payload = encode(type_name, shape, expression)
        header[name] = {"dtype": TYPES[type_name][2], "shape": extents,
                        "data_offsets": [len(data), len(data) + len(payload)]}
        data += payload
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_npy(path):
    with open(path, "rb") as file:
        bytes_ = file.read()
    assert bytes_[:8] == b"\x93NUMPY\x01\x00", "not an npy file of version 1.0"
    length, = struct.unpack("<H", bytes_[8:10])
    header = eval(bytes_[10:10 + length].decode())
    code = next(c for c, descr, _ in TYPES.values() if descr == header["descr"])
    data = bytes_[10 + length:]
    count = math.prod(header["shape"])
    values = struct.unpack("<%d%s" % (count, code), data)
    return header, values


def print_npy(path):
    header, values = read_npy(path)
    print(header["descr"], header["shape"], *("%g" % value for value in values))


def compare_npy(path, shape, expression, tolerance):
    header, values = read_npy(path)
    extents, expected = evaluate(shape, expression)
    if header["shape"] != tuple(extents):
        sys.exit("%s: shape %s, expected %s" % (path, header["shape"], extents))
    for n, (got, wanted) in enumerate(zip(values, expected)):
        if got != wanted and not abs(got - wanted) <= float(tolerance):
            sys.exit("%s: element %d is %.9g, expected %.9g" % (path, n, got, wanted))


if sys.argv[1] == "--print":
    print_npy(sys.argv[2])
elif sys.argv[1] == "--compare":
    compare_npy(*sys.argv[2:])
elif sys.argv[1].endswith(".npy"):
    write_npy(*sys.argv[1:])
else:
    write_safetensors(sys.argv[1], sys.argv[2:])
