//===- BufferizableOpInterfaceImpl.h - attn ops on buffers ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_COMMON_BUFFERIZABLEOPINTERFACEIMPL_H
#define ATTN_CODEGEN_COMMON_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace attn

#endif // ATTN_CODEGEN_COMMON_BUFFERIZABLEOPINTERFACEIMPL_H
