//===- TensorData.h - Contents of ONNX tensors ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IMPORT_ONNX_TENSORDATA_H
#define ATTN_LIB_IMPORT_ONNX_TENSORDATA_H

#include "mlir/IR/BuiltinAttributes.h"
#include "onnx.pb.h"
#include "llvm/Support/Error.h"

namespace attn {

/// The tensor's elements as those of type `element`, which is null when there
/// is none: from the typed field, from `raw_data`, or from a file below
/// `folder`. Without a folder, external data is an error.
llvm::Expected<mlir::DenseElementsAttr>
readTensor(mlir::Type element, const onnx::TensorProto &tensor,
           llvm::StringRef folder);

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_TENSORDATA_H
