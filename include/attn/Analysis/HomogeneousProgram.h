//===- HomogeneousProgram.h - Programs that scale with a value --*- C++ -*-===//
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_HOMOGENEOUSPROGRAM_H
#define ATTN_ANALYSIS_HOMOGENEOUSPROGRAM_H

#include "mlir/IR/Region.h"

namespace attn {

/// Whether the program `(p, b, h, i, j) -> p` is homogeneous: `f(c p) = c f(p)`
/// for every positive `c`. Weights may then be mapped before they are divided
/// by their sum. Known are products and quotients with what does not depend on
/// `p`, sums, and selections by what does not depend on `p`. If not, `*culprit`
/// is the first op that is not known to be so, or null where the yielded value
/// does not depend on `p`.
bool isHomogeneousProgram(mlir::Region &program,
                          mlir::Operation **culprit = nullptr);

} // namespace attn

#endif // ATTN_ANALYSIS_HOMOGENEOUSPROGRAM_H
