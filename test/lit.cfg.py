# ===- lit.cfg.py - How lit runs the tests of every folder below -------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# Substitutions: the project's tools and those of LLVM by name, %python,
# %tensors, %exits and %onnx (Inputs/*.py), %{v3} and %{v4} (compile targets),
# %runner_libs (the runtime libraries of mlir-runner), %docs (the generated
# reference), %tools (the folder of the tools), and the usual %s, %t.
# Features for REQUIRES: avx2 and avx512 (of this host), asan, dev-full.
#
# ===------------------------------------------------------------------------===#

import os

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unittests", "performance"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.attn_test_dir

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.attn_tools_dir, append_path=True)

tool_dirs = [config.attn_tools_dir, config.llvm_tools_dir]
llvm_config.add_tool_substitutions(["mlir-opt", "mlir-runner"], tool_dirs)

# A test of a tool that is not built in this tree is unsupported, not failed.
for tool in ["attn-opt", "attn-run", "attn-bench", "attn-translate",
             "attn-lsp-server", "attn-reduce"]:
    if tool in config.attn_tools:
        llvm_config.add_tool_substitutions([ToolSubst(tool, unresolved="fatal")],
                                           tool_dirs)
        config.available_features.add(tool)

config.substitutions.append(("%python", '"%s"' % config.python_executable))
config.substitutions.append(("%docs", config.attn_docs_dir))
config.substitutions.append(("%tools", config.attn_tools_dir))
config.substitutions.append(("%runner_libs", ",".join(
    os.path.join(config.llvm_lib_dir, name + config.llvm_shlib_ext)
    for name in ["libmlir_runner_utils", "libmlir_c_runner_utils"])))

# Instruction sets of this host, by the flags that code generation asks for.
try:
    with open("/proc/cpuinfo") as cpuinfo:
        flags = set(next((line for line in cpuinfo if line.startswith("flags")),
                         "").split())
except OSError:
    flags = set()
if {"avx2", "fma", "f16c"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
    config.available_features.add("avx512")

# A file that cannot be written to: every write finds the disk full.
if os.path.exists("/dev/full"):
    config.available_features.add("dev-full")

# Compile targets of the integration tests: a host that cannot run the wider code
# runs the portable code once more.
for name, feature in [("v3", "avx2"), ("v4", "avx512")]:
    config.substitutions.append(
        ("%{" + name + "}", "x86-64-" + name
         if feature in config.available_features else "x86-64"))
for script in ["tensors", "exits"]:
    config.substitutions.append(("%" + script, '"%s" "%s"' % (
        config.python_executable,
        os.path.join(config.test_source_root, "Inputs", script + ".py"))))

# Models are text in the tests.
config.substitutions.append(("%onnx", '"%s" "%s" "%s" "%s"' % (
    config.python_executable,
    os.path.join(config.test_source_root, "Inputs", "onnxmodel.py"),
    config.attn_protoc,
    os.path.join(config.test_source_root, "..", "lib", "Import", "ONNX",
                 "Proto"))))

if config.attn_sanitize:
    config.available_features.add("asan")
    llvm_config.with_system_environment(["ASAN_OPTIONS", "UBSAN_OPTIONS"])
