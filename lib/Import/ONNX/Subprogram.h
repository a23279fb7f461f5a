//===- Subprogram.h - Elementwise ONNX subgraphs as programs ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FlexAttention has subgraphs that map a matrix of scores to one of the same
// shape, tensor by tensor. Here each tensor becomes a program for one of its
// elements, so that the whole subgraph is a region of plain arithmetic on one
// score and its position, and no tensor exists. What is not elementwise, beside
// the shapes and ranges from which positions are made, is an error.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IMPORT_ONNX_SUBPROGRAM_H
#define ATTN_LIB_IMPORT_ONNX_SUBPROGRAM_H

#include "Node.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <map>

namespace attn {

/// An integer that is known, or the run-time extent of a dimension of the
/// scores.
struct Extent {
  int64_t value = 0;
  int dim = -1;

  bool isKnown(int64_t other) const { return dim < 0 && value == other; }
  bool operator==(const Extent &other) const {
    return value == other.value && dim == other.dim;
  }
  bool operator!=(const Extent &other) const { return !(*this == other); }
};

class Evaluator;
struct ScalarOp;

/// One tensor of a subgraph. `int64` elements are of type `index`, those of
/// unsigned types are held in integers without a sign.
struct Program {
  llvm::SmallVector<Extent> shape;
  mlir::Type element;
  /// Emits the element at `indices`; null after an error.
  std::function<mlir::Value(Evaluator &, llvm::ArrayRef<mlir::Value>)> at;
  /// Whether an element depends on scores, not on positions alone.
  bool usesScores = false;
  /// The elements, when they are known and few.
  std::optional<llvm::SmallVector<Extent>> integers;

  /// A scalar of -inf.
  bool isMinusInfinity = false;
  /// The tensor is `shown` where `condition` is `shownWhen`, and -inf
  /// elsewhere.
  const Program *condition = nullptr;
  const Program *shown = nullptr;
  bool shownWhen = true;
};

/// Emits elements at one position; each only once.
class Evaluator {
public:
  /// Without `score` there is none, as in a mask.
  Evaluator(ScalarBuilder build, mlir::Value score, mlir::ValueRange position)
      : build(build), score(score), position(position) {
    zero = this->build.index(0);
  }

  mlir::Value element(const Program &program,
                      llvm::ArrayRef<mlir::Value> indices);

  ScalarBuilder build;
  mlir::Value score;
  /// (b, h, i, j).
  mlir::ValueRange position;
  mlir::Value zero;

private:
  using Key = std::pair<const Program *, std::vector<void *>>;
  std::map<Key, mlir::Value> known;
};

/// The indices of an element of a tensor of the extents `from`, which is
/// broadcast to `indices`.
llvm::SmallVector<mlir::Value>
broadcastIndices(Evaluator &evaluator, llvm::ArrayRef<Extent> from,
                 llvm::ArrayRef<mlir::Value> indices);

/// The type of elements of programs: `index` for i64.
mlir::Type programType(mlir::Type element);
/// That of a TensorProto.DataType, or null.
mlir::Type getProgramType(mlir::MLIRContext *context, int32_t dataType);

/// An integer attribute, or the default; nothing when it is of another type.
std::optional<int64_t> readInt(const onnx::NodeProto &proto,
                               llvm::StringRef name, int64_t defaultValue);
std::string stringify(llvm::ArrayRef<Extent> shape);

class Subprogram {
public:
  /// The matrix has the shape `shape` and the run-time `extents`. `element` is
  /// the type that the subgraph computes in.
  Subprogram(Node &node, llvm::StringRef attribute,
             llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::Value> extents,
             mlir::Type element)
      : node(node), attribute(attribute), shape(shape), extents(extents),
        element(element) {}

  /// With `hides`, elements that are -inf by their position are not part of the
  /// program but hidden pairs.
  mlir::LogicalResult read(const onnx::GraphProto &graph, bool hides);

  /// After a failure without a message: dimension `dim` of the scores, which is
  /// known at run time only, must be `value`, as a static tensor is broadcast
  /// with it.
  const std::optional<Extent> &getNeededExtent() const { return needed; }

  /// Whether some pairs become -inf by their positions alone: they are hidden.
  bool hidesPairs() const { return !conditions.empty(); }
  /// Whether the scores that are not hidden stay what they are.
  bool keepsScores() const { return result == &programs.front(); }
  /// The new score, of those that are not hidden; null after an error.
  mlir::Value emitScore(ScalarBuilder build, mlir::Value score,
                        mlir::ValueRange position) const;
  /// Whether the pair is visible; null after an error.
  mlir::Value emitVisible(ScalarBuilder build, mlir::ValueRange position) const;

private:
  mlir::InFlightDiagnostic error() const;
  mlir::InFlightDiagnostic error(const onnx::NodeProto &proto) const;
  /// Reports an error, and gives null.
  const Program *fail(const onnx::NodeProto &proto,
                      const llvm::Twine &text) const;

  /// Null in the program's place for an input that is left out.
  std::optional<const Program *> lookup(const onnx::NodeProto &proto,
                                        int input);
  Program &add();
  const Program *addConstant(const onnx::TensorProto &tensor,
                             llvm::StringRef what);
  /// A tensor of the outer graph, or a constant, whose elements are of type
  /// `element`.
  const Program *addCapture(mlir::Value value, mlir::Type element);
  const Program *addCast(const Program *source, mlir::Type element);
  /// A list, or single number, of known integers and extents.
  const Program *addKnown(llvm::ArrayRef<Extent> integers,
                          llvm::ArrayRef<Extent> shape);

  mlir::LogicalResult readNode(const onnx::NodeProto &proto);
  const Program *readElementwise(const onnx::NodeProto &proto,
                                 llvm::ArrayRef<const Program *> inputs);
  const Program *readConstant(const onnx::NodeProto &proto,
                              llvm::ArrayRef<const Program *> inputs);
  const Program *readIdentity(const onnx::NodeProto &proto,
                              llvm::ArrayRef<const Program *> inputs);
  const Program *readCastLike(const onnx::NodeProto &proto,
                              llvm::ArrayRef<const Program *> inputs);
  const Program *readTranspose(const onnx::NodeProto &proto,
                               llvm::ArrayRef<const Program *> inputs);
  const Program *readSqueeze(const onnx::NodeProto &proto,
                             llvm::ArrayRef<const Program *> inputs);
  const Program *readCast(const onnx::NodeProto &proto,
                          llvm::ArrayRef<const Program *> inputs);
  const Program *readExpand(const onnx::NodeProto &proto,
                            llvm::ArrayRef<const Program *> inputs);
  const Program *readGather(const onnx::NodeProto &proto,
                            llvm::ArrayRef<const Program *> inputs);
  const Program *readRange(const onnx::NodeProto &proto,
                           llvm::ArrayRef<const Program *> inputs);
  const Program *readReshape(const onnx::NodeProto &proto,
                             llvm::ArrayRef<const Program *> inputs);
  const Program *readShape(const onnx::NodeProto &proto,
                           llvm::ArrayRef<const Program *> inputs);
  const Program *readUnsqueeze(const onnx::NodeProto &proto,
                               llvm::ArrayRef<const Program *> inputs);
  const Program *readWhere(const onnx::NodeProto &proto,
                           llvm::ArrayRef<const Program *> inputs);
  /// `source` with the extents `shape`, which differ by extents of 1 only.
  const Program *reshape(const onnx::NodeProto &proto, const Program &source,
                         llvm::ArrayRef<Extent> shape);
  /// The shape that the inputs have together. Nothing after an error, and where
  /// an extent is needed.
  std::optional<llvm::SmallVector<Extent>>
  broadcast(const onnx::NodeProto &proto,
            llvm::ArrayRef<const Program *> inputs);
  /// Which of `rank` dimensions the axes name; nothing after an error.
  std::optional<llvm::SmallVector<bool>>
  readAxes(const onnx::NodeProto &proto, const Program &axes, int64_t rank);
  /// Elements of a tensor at indices that are computed.
  const Program *gather(const Program &data, const Program &index,
                        int64_t axis);
  /// The numbers of the attributes that `op` has, or their defaults.
  std::optional<llvm::SmallVector<double>>
  readAttributes(const onnx::NodeProto &proto, const ScalarOp &op);
  /// Whether the second input is what `op` needs for integers.
  mlir::LogicalResult checkSecondInput(const onnx::NodeProto &proto,
                                       const ScalarOp &op,
                                       const Program &input);

  Node &node;
  llvm::StringRef attribute;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::Value> extents;
  mlir::Type element;
  /// Programs point at each other.
  std::deque<Program> programs;
  llvm::StringMap<const Program *> values;
  const Program *result = nullptr;
  std::optional<Extent> needed;
  llvm::SmallVector<std::pair<const Program *, bool>> conditions;
};

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_SUBPROGRAM_H
