//===- MaskSyntax.cpp - Text form of masked_softmax clauses ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   causal(top_left | bottom_right | offset %o : type [, prefix = %p : type])
//   window[left, right] [(top_left | bottom_right | offset %o : type)]
//   lengths(%n : type)  segments(%q, %k : type, type)  mask(%m : type)
//   visible { region }  sink(%s : type)  normalizer(softmax | sigmoid)
//   empty_row(zero | nan)
//
//===----------------------------------------------------------------------===//

#include "MaskSyntax.h"

using namespace mlir;
using namespace attn;

namespace {

/// `( top_left`, `( bottom_right` or `( offset %o : type`.
ParseResult
parseAlignment(OpAsmParser &parser,
               std::optional<OpAsmParser::UnresolvedOperand> &offset,
               Type &offsetType, AlignmentAttr &alignment) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseKeyword(&keyword))
    return failure();
  std::optional<Alignment> value = symbolizeAlignment(keyword);
  if (!value)
    return parser.emitError(loc)
           << "unknown alignment '" << keyword
           << "', expected top_left, bottom_right or offset";
  alignment = AlignmentAttr::get(parser.getContext(), *value);
  if (*value == Alignment::Offset) {
    offset.emplace();
    if (parser.parseOperand(*offset) || parser.parseColonType(offsetType))
      return failure();
  }
  return success();
}

void printAlignment(OpAsmPrinter &printer, Value offset, Type offsetType,
                    AlignmentAttr alignment) {
  printer << "(" << stringifyAlignment(alignment.getValue());
  if (offset)
    printer << " " << offset << " : " << offsetType;
}

ParseResult
parseOperandClause(OpAsmParser &parser,
                   std::optional<OpAsmParser::UnresolvedOperand> &operand,
                   Type &type) {
  operand.emplace();
  return failure(parser.parseLParen() || parser.parseOperand(*operand) ||
                 parser.parseColonType(type) || parser.parseRParen());
}

/// `( keyword )`, one of the two that `expected` names.
template <typename AttrT, typename Enum>
ParseResult
parseEnumClause(OpAsmParser &parser, StringRef what, StringRef expected,
                std::optional<Enum> symbolize(StringRef), AttrT &attribute) {
  StringRef keyword;
  if (parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> value = symbolize(keyword);
  if (!value)
    return parser.emitError(loc) << "unknown " << what << " '" << keyword
                                 << "', expected " << expected;
  attribute = AttrT::get(parser.getContext(), *value);
  return parser.parseRParen();
}

} // namespace

ParseResult attn::parseMaskClauses(
    OpAsmParser &parser, std::optional<OpAsmParser::UnresolvedOperand> &offset,
    Type &offsetType, std::optional<OpAsmParser::UnresolvedOperand> &prefix,
    Type &prefixType, std::optional<OpAsmParser::UnresolvedOperand> &lengths,
    Type &lengthsType,
    std::optional<OpAsmParser::UnresolvedOperand> &querySegments,
    Type &querySegmentsType,
    std::optional<OpAsmParser::UnresolvedOperand> &keySegments,
    Type &keySegmentsType, std::optional<OpAsmParser::UnresolvedOperand> &mask,
    Type &maskType, std::optional<OpAsmParser::UnresolvedOperand> &sink,
    Type &sinkType, UnitAttr &causal, AlignmentAttr &alignment,
    DenseI64ArrayAttr &window, NormalizerAttr &normalizer,
    EmptyRowAttr &emptyRow, Region &visible) {
  while (true) {
    SMLoc loc = parser.getCurrentLocation();
    auto duplicate = [&](StringRef name) {
      return parser.emitError(loc) << "clause '" << name << "' is given twice";
    };
    if (succeeded(parser.parseOptionalKeyword("causal"))) {
      if (causal)
        return duplicate("causal");
      if (alignment)
        return parser.emitError(loc)
               << "'causal' comes before 'window' and gives the alignment";
      causal = parser.getBuilder().getUnitAttr();
      if (parseAlignment(parser, offset, offsetType, alignment))
        return failure();
      if (succeeded(parser.parseOptionalComma())) {
        prefix.emplace();
        if (parser.parseKeyword("prefix") || parser.parseEqual() ||
            parser.parseOperand(*prefix) || parser.parseColonType(prefixType))
          return failure();
      }
      if (parser.parseRParen())
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("window"))) {
      if (window)
        return duplicate("window");
      SmallVector<int64_t> sides;
      if (parser.parseCommaSeparatedList(
              OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
                return parser.parseInteger(sides.emplace_back());
              }))
        return failure();
      window = parser.getBuilder().getDenseI64ArrayAttr(sides);
      if (!alignment &&
          (parseAlignment(parser, offset, offsetType, alignment) ||
           parser.parseRParen()))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("lengths"))) {
      if (lengths)
        return duplicate("lengths");
      if (parseOperandClause(parser, lengths, lengthsType))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("segments"))) {
      if (querySegments)
        return duplicate("segments");
      querySegments.emplace();
      keySegments.emplace();
      if (parser.parseLParen() || parser.parseOperand(*querySegments) ||
          parser.parseComma() || parser.parseOperand(*keySegments) ||
          parser.parseColonType(querySegmentsType) || parser.parseComma() ||
          parser.parseType(keySegmentsType) || parser.parseRParen())
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("mask"))) {
      if (mask)
        return duplicate("mask");
      if (parseOperandClause(parser, mask, maskType))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("sink"))) {
      if (sink)
        return duplicate("sink");
      if (parseOperandClause(parser, sink, sinkType))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("normalizer"))) {
      if (normalizer)
        return duplicate("normalizer");
      if (parseEnumClause(parser, "normalizer", "softmax or sigmoid",
                          symbolizeNormalizer, normalizer))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("empty_row"))) {
      if (emptyRow)
        return duplicate("empty_row");
      if (parseEnumClause(parser, "empty_row", "zero or nan", symbolizeEmptyRow,
                          emptyRow))
        return failure();
    } else if (succeeded(parser.parseOptionalKeyword("visible"))) {
      if (!visible.empty())
        return duplicate("visible");
      if (parser.parseRegion(visible))
        return failure();
    } else {
      return success();
    }
  }
}

void attn::printMaskClauses(OpAsmPrinter &printer, Operation *op, Value offset,
                            Type offsetType, Value prefix, Type prefixType,
                            Value lengths, Type lengthsType,
                            Value querySegments, Type querySegmentsType,
                            Value keySegments, Type keySegmentsType, Value mask,
                            Type maskType, Value sink, Type sinkType,
                            UnitAttr causal, AlignmentAttr alignment,
                            DenseI64ArrayAttr window, NormalizerAttr normalizer,
                            EmptyRowAttr emptyRow, Region &visible) {
  StringRef separator = "";
  auto begin = [&](StringRef keyword) {
    printer << separator << keyword;
    separator = " ";
  };
  if (causal && alignment) {
    begin("causal");
    printAlignment(printer, offset, offsetType, alignment);
    if (prefix)
      printer << ", prefix = " << prefix << " : " << prefixType;
    printer << ")";
  }
  if (window) {
    begin("window");
    printer << "[";
    llvm::interleaveComma(window.asArrayRef(), printer.getStream());
    printer << "]";
    if (!causal && alignment) {
      printAlignment(printer, offset, offsetType, alignment);
      printer << ")";
    }
  }
  if (lengths) {
    begin("lengths");
    printer << "(" << lengths << " : " << lengthsType << ")";
  }
  if (querySegments && keySegments) {
    begin("segments");
    printer << "(" << querySegments << ", " << keySegments << " : "
            << querySegmentsType << ", " << keySegmentsType << ")";
  }
  if (mask) {
    begin("mask");
    printer << "(" << mask << " : " << maskType << ")";
  }
  if (sink) {
    begin("sink");
    printer << "(" << sink << " : " << sinkType << ")";
  }
  if (normalizer && normalizer.getValue() != Normalizer::Softmax) {
    begin("normalizer");
    printer << "(" << stringifyNormalizer(normalizer.getValue()) << ")";
  }
  if (emptyRow && emptyRow.getValue() != EmptyRow::Zero) {
    begin("empty_row");
    printer << "(" << stringifyEmptyRow(emptyRow.getValue()) << ")";
  }
  if (!visible.empty()) {
    begin("visible ");
    printer.printRegion(visible);
  }
}
