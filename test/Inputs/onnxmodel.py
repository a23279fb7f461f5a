# ===- onnxmodel.py - Small ONNX models from lines of text -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   onnxmodel.py PROTOC FOLDER_OF_ONNX_PROTO OUT.onnx LINE...
#
# Lines:
#   opset [DOMAIN] N                      default: opset 25
#   input NAME [TYPE [SIZES]]             TYPE as in TensorProto, lower case;
#   output NAME [TYPE [SIZES]]            SIZES such as 2,S,8, or - for rank 0
#   node [DOMAIN::]OP INPUT... -> OUTPUT... [KEY=VALUE...]     _ is no input
#   initializer NAME TYPE SIZES [VALUE...]
#   graph TEXT, model TEXT                fields in protobuf's text format
#
# Nothing is checked: models that are wrong are what most tests need.
#
# ===------------------------------------------------------------------------===#

import re
import subprocess
import sys

protoc, folder, path, *lines = sys.argv[1:]
TYPES = {"float": 1, "uint8": 2, "int32": 6, "int64": 7, "string": 8, "bool": 9,
         "float16": 10, "double": 11, "bfloat16": 16}
FIELDS = {"float": "float_data", "double": "double_data", "int64": "int64_data"}
model, graph, hasOpset = [], ['name: "test"'], False


def quoted(text):
    return '"' + text + '"'


def value_info(words):
    text = "name: " + quoted(words[0])
    if len(words) > 1:
        tensor = f"elem_type: {TYPES[words[1]]}"
        if len(words) > 2:
            sizes = [] if words[2] == "-" else words[2].split(",")
            dims = " ".join(
                "dim { dim_value: %s }" % size if re.match(r"-?\d", size) else
                "dim { dim_param: %s }" % quoted(size) for size in sizes)
            tensor += " shape { " + dims + " }"
        text += " type { tensor_type { " + tensor + " } }"
    return text


def attribute(text):
    key, value = text.split("=", 1)
    if re.fullmatch(r"-?\d+", value):
        kind = f"type: INT i: {value}"
    elif re.fullmatch(r"-?\d+\.\d*|-?inf|nan", value):
        kind = f"type: FLOAT f: {value}"
    else:
        kind = "type: STRING s: " + quoted(value)
    return "attribute { name: " + quoted(key) + " " + kind + " }"


def node(words):
    domain, _, op = words[0].rpartition("::")
    text = "op_type: " + quoted(op)
    if domain:
        text += " domain: " + quoted(domain)
    field = "input"
    for word in words[1:]:
        if word == "->":
            field = "output"
        elif "=" in word:
            text += " " + attribute(word)
        else:
            text += f" {field}: " + quoted("" if word == "_" else word)
    return text


def initializer(words):
    name, kind, sizes, *values = words
    dims = [] if sizes == "-" else sizes.split(",")
    text = "name: " + quoted(name) + f" data_type: {TYPES[kind]}"
    text += "".join(f" dims: {size}" for size in dims)
    field = FIELDS.get(kind, "int32_data")
    return text + "".join(f" {field}: {value}" for value in values)


for line in lines:
    keyword, _, rest = line.partition(" ")
    words = rest.split()
    if keyword == "opset":
        hasOpset = True
        domain = quoted(words[0] if len(words) > 1 else "")
        model.append(f"opset_import {{ domain: {domain} version: {words[-1]} }}")
    elif keyword in ("input", "output"):
        graph.append(keyword + " { " + value_info(words) + " }")
    elif keyword == "node":
        graph.append("node { " + node(words) + " }")
    elif keyword == "initializer":
        graph.append("initializer { " + initializer(words) + " }")
    elif keyword == "graph":
        graph.append(rest)
    elif keyword == "model":
        model.append(rest)
    else:
        sys.exit(f"unknown line: {line}")
if not hasOpset:
    model.append("opset_import { version: 25 }")
text = "ir_version: 10\n" + "\n".join(model)
text += "\ngraph {\n" + "\n".join(graph) + "\n}\n"
done = subprocess.run([protoc, "-I", folder, "--encode=onnx.ModelProto",
                       "onnx.proto"], input=text.encode(),
                      stdout=subprocess.PIPE)
if done.returncode:
    sys.exit("protoc cannot encode:\n" + text)
with open(path, "wb") as file:
    file.write(done.stdout)
