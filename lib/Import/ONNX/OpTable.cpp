//===- OpTable.cpp - Which ONNX operators are imported ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"

using namespace attn;
using llvm::StringLiteral;

static constexpr StringLiteral attentionInputs[] = {
    "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
static constexpr StringLiteral flexInputs[] = {"Q", "K", "V"};
static constexpr StringLiteral linearInputs[] = {"query",      "key",   "value",
                                                 "past_state", "decay", "beta"};
static constexpr StringLiteral unaryInputs[] = {"X"};
static constexpr StringLiteral normInputs[] = {"X", "scale", "B"};
static constexpr StringLiteral matMulInputs[] = {"A", "B"};
static constexpr StringLiteral rotaryInputs[] = {"X", "cos_cache", "sin_cache",
                                                 "position_ids"};

static const OpEntry table[] = {
    {"", "Attention", 23, 3, attentionInputs, 4, importAttention},
    {"", "Gelu", 20, 1, unaryInputs, 1, importGelu},
    {"", "LayerNormalization", 17, 2, normInputs, 3, importLayerNormalization},
    {"", "LinearAttention", 27, 3, linearInputs, 2, importLinearAttention},
    {"", "MatMul", 1, 2, matMulInputs, 1, importMatMul},
    {"", "RMSNormalization", 23, 2,
     llvm::ArrayRef<StringLiteral>(normInputs).take_front(2), 1,
     importRMSNormalization},
    {"", "RotaryEmbedding", 23, 3, rotaryInputs, 1, importRotaryEmbedding},
    {"", "Softmax", 13, 1, unaryInputs, 1, importSoftmax},
    {"ai.onnx.preview", "FlexAttention", 1, 3, flexInputs, 1,
     importFlexAttention},
};

const OpEntry *attn::findOp(llvm::StringRef domain, llvm::StringRef type) {
  for (const OpEntry &entry : table)
    if (entry.domain == domain && entry.type == type)
      return &entry;
  return nullptr;
}
