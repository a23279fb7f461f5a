//===- Remarks.cpp - What the compiler says about its choices -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Remarks.h"
#include "attn/Pipelines/Compiler.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(std::vector<CompilerRemark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    if (remark.getRemarkName() == "attention-not-fused" ||
        remark.getRemarkName() == "unfused")
      text = kNotFusedPrefix;
    text += llvm::join(
        llvm::map_range(remark.getArgs(),
                        [](const auto &argument) -> const std::string & {
                          return argument.val;
                        }),
        " ");
    // The file is the user's own; its lines are what helps. Models without
    // lines have names.
    if (auto name = remark.getLocation()->findInstanceOf<NameLoc>())
      text += " (" + name.getName().str() + ")";
    else if (auto location =
                 remark.getLocation()->findInstanceOf<FileLineColLoc>())
      text += " (line " + std::to_string(location.getLine()) + ")";
    remarks.push_back({remark.getFunction().str(), std::move(text)});
  }

private:
  std::vector<CompilerRemark> &remarks;
};

} // namespace

void attn::collectRemarks(MLIRContext &context,
                          std::vector<CompilerRemark> &remarks) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = "attn";
  // Fails only for a pattern that is no regular expression.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
