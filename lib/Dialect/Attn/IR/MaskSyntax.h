//===- MaskSyntax.h - Text form of masked_softmax clauses -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_IR_MASKSYNTAX_H
#define ATTN_LIB_DIALECT_ATTN_IR_MASKSYNTAX_H

#include "attn/Dialect/Attn/IR/AttnDialect.h"

namespace attn {

mlir::ParseResult parseMaskClauses(
    mlir::OpAsmParser &parser,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &offset,
    mlir::Type &offsetType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &prefix,
    mlir::Type &prefixType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &lengths,
    mlir::Type &lengthsType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &querySegments,
    mlir::Type &querySegmentsType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &keySegments,
    mlir::Type &keySegmentsType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &mask,
    mlir::Type &maskType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &sink,
    mlir::Type &sinkType, mlir::UnitAttr &causal, AlignmentAttr &alignment,
    mlir::DenseI64ArrayAttr &window, NormalizerAttr &normalizer,
    EmptyRowAttr &emptyRow, mlir::Region &visible);

void printMaskClauses(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::Value offset, mlir::Type offsetType,
                      mlir::Value prefix, mlir::Type prefixType,
                      mlir::Value lengths, mlir::Type lengthsType,
                      mlir::Value querySegments, mlir::Type querySegmentsType,
                      mlir::Value keySegments, mlir::Type keySegmentsType,
                      mlir::Value mask, mlir::Type maskType, mlir::Value sink,
                      mlir::Type sinkType, mlir::UnitAttr causal,
                      AlignmentAttr alignment, mlir::DenseI64ArrayAttr window,
                      NormalizerAttr normalizer, EmptyRowAttr emptyRow,
                      mlir::Region &visible);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_IR_MASKSYNTAX_H
