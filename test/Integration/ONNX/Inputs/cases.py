# ===- cases.py - Operators of subgraphs with known results -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   cases.py COMMAND_OF_ONNXMODEL... OUT.onnx CASE...
#
# A case is `HOW OP INPUT... [KEY=VALUE...] -> RESULT`: the operator on 12
# elements, TYPE:VALUE,VALUE..., or a scalar, TYPE:VALUE, or _, which is no
# input. HOW is `exact`, signs of zeros too, `near`, to a part in 10^6, or `same`
# for what is no float. The model has one FlexAttention, which hides the keys
# whose elements are as expected in all cases: with values of 1 its result is 0
# when all are, and 1 when one is not.
#
# ===------------------------------------------------------------------------===#

import re
import subprocess
import sys

at = next(i for i, word in enumerate(sys.argv) if word.endswith(".onnx"))
command, cases = sys.argv[1:at + 1], sys.argv[at + 1:]
TYPES = {"float": (1, "float_data"), "uint8": (2, "int32_data"),
         "int8": (3, "int32_data"), "uint16": (4, "int32_data"),
         "int16": (5, "int32_data"), "int32": (6, "int32_data"),
         "int64": (7, "int64_data"), "bool": (9, "int32_data"),
         "double": (11, "double_data"), "uint32": (12, "uint64_data"),
         "uint64": (13, "uint64_data")}
parts = []


def initializer(name, text):
    kind, values = text.split(":")
    number, field = TYPES[kind]
    count = values.count(",") + 1
    dims = f"dims: {count}" if count > 1 else ""
    parts.append(f"initializer {{ name: '{name}' data_type: {number} {dims} "
                 f"{field}: [{values}] }}")


def node(op, inputs, output, attributes=()):
    text = f"node {{ op_type: '{op}' output: '{output}'"
    for name in inputs:
        text += f" input: '{name}'"
    for attribute in attributes:
        key, value = attribute.split("=")
        words = value.split(",")
        plural = "s" if len(words) > 1 else ""
        kind, field = "STRING", "s"
        if re.fullmatch(r"-?\d+", words[0]):
            kind, field = "INT", "i"
        elif re.fullmatch(r"-?\d*\.\d+", words[0]):
            kind, field = "FLOAT", "f"
        if plural:
            field = kind.lower()
        text += f" attribute {{ name: '{key}' type: {kind.upper()}{plural.upper()}"
        for word in words:
            text += f" {field}{plural}: " + (f"'{word}'" if kind == "STRING" else
                                            word)
        text += " }"
    parts.append(text + " }")
    return output


def compare(how, o, e):
    if how == "same":
        return node("Equal", [o, e], o + "ok")
    equal = node("Equal", [o, e], o + "equal")
    bothNaN = node("And", [node("IsNaN", [o], o + "nan"),
                           node("IsNaN", [e], e + "nan")], o + "both")
    if how == "exact":
        sign = node("Equal", [node("Reciprocal", [o], o + "inverse"),
                              node("Reciprocal", [e], e + "inverse")], o + "sign")
        number = node("And", [equal, sign], o + "number")
    else:
        error = node("Abs", [node("Sub", [o, e], o + "difference")], o + "error")
        bound = node("Mul", [node("Abs", [e], e + "size"),
                             node("CastLike", ["tolerance", e], e + "part")],
                     e + "bound")
        close = node("And", [node("LessOrEqual", [error, bound], o + "isNear"),
                             node("Not", [node("IsInf", [e], e + "isInf")],
                                  e + "isFinite")], o + "close")
        number = node("Or", [equal, close], o + "number")
    return node("Or", [number, bothNaN], o + "ok")


initializer("tolerance", "float:1e-6")
initializer("hidden", "float:-inf")
result = None
for number, case in enumerate(cases):
    left, expected = case.split(" -> ")
    how, op, *words = left.split()
    name, inputs = f"c{number}_", []
    for word in (w for w in words if "=" not in w):
        inputs.append("" if word == "_" else f"{name}x{len(inputs)}")
        if inputs[-1]:
            initializer(inputs[-1], word)
    initializer(name + "e", expected)
    o = node(op, inputs, name + "o", [w for w in words if "=" in w])
    ok = compare(how, o, name + "e")
    result = node("And", [result, ok], name + "all") if result else ok
node("Where", [result, "hidden", "s"], "out")
flex = ("graph node { op_type: 'FlexAttention' domain: 'ai.onnx.preview' "
        "input: ['Q', 'K', 'V'] output: 'Y' attribute { name: 'score_mod' "
        "type: GRAPH g { input { name: 's' } output { name: 'out' } " +
        " ".join(parts) + " } } }")
sys.exit(subprocess.run(command + [
    "opset 26", "opset ai.onnx.preview 1", "input Q float 1,1,1,1",
    "input K float 1,1,12,1", "input V float 1,1,12,1", "output Y",
    flex]).returncode)
