// ONNX's ops, written with the engine's: tables by family, from the op's name to a function of one
// node and its inputs.
//
//   const onnx::Op& op = onnx::all_ops().at("Softmax");
//   std::vector<Tensor> outputs = op({node, 13, {x}});
//
// onnx::Unsupported says what of an op, an attribute or a type is not there; the case is skipped
// with that reason.
#pragma once

#include <functional>

#include "ops/ops.h"
#include "tests/foreign/onnx/onnx.h"

namespace plimsoll::onnx {

struct OpCall {
  const Node& node;
  int64_t opset = 0;       // version of the node's domain
  std::vector<Tensor> in;  // undefined: an optional input that is absent

  bool has(size_t i) const { return i < in.size() && in[i].defined(); }
  // Undefined when it is absent.
  const Tensor& operator[](size_t i) const {
    static const Tensor none;
    return i < in.size() ? in[i] : none;
  }
  std::vector<int64_t> integers(size_t i) const { return in.at(i).to_vector<int64_t>(); }
  int64_t integer(size_t i, int64_t otherwise) const {
    return has(i) ? in[i].item<int64_t>() : otherwise;
  }
  double real(size_t i, double otherwise) const {
    return has(i) ? in[i].item<double>() : otherwise;
  }
  // What an attribute said in old versions of an op and an input says in new ones.
  std::optional<std::vector<int64_t>> integers_of(const char* attribute, size_t input) const {
    if (has(input)) return integers(input);
    if (node.has(attribute)) return node.integers(attribute, {});
    return std::nullopt;
  }
};

using Op = std::function<std::vector<Tensor>(const OpCall&)>;
using Ops = std::map<std::string, Op>;

Ops pointwise_ops();
Ops reduction_ops();
Ops shape_ops();
Ops index_ops();
Ops product_ops();
Ops convolution_ops();
Ops norm_ops();
Ops pool_ops();
Ops resize_ops();
Ops loss_ops();
Ops attention_ops();
Ops optimizer_ops();
const Ops& all_ops();

// f(x) for an f of floating tensors. Integers and bools go through f64, which holds them up to
// 2^53.
template <class F>
Tensor in_floating(const Tensor& x, F&& f) {
  if (is_floating(x.dtype())) return f(x);
  return cast(f(cast(x, DType::f64)), x.dtype());
}

// What attributes name, in the words of ONNX or of PyTorch. Unsupported: another word.
inline Reduction reduction(const std::string& name) {
  const std::map<std::string, Reduction> known{
      {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};
  check<Unsupported>(known.contains(name), "reduction = ", name);
  return known.at(name);
}
inline PadMode pad_mode(const std::string& name) {
  const std::map<std::string, PadMode> known{
      {"constant", PadMode::constant}, {"reflect", PadMode::reflect}, {"edge", PadMode::edge},
      {"replicate", PadMode::edge},    {"wrap", PadMode::wrap},       {"circular", PadMode::wrap}};
  check<Unsupported>(known.contains(name), "mode = ", name);
  return known.at(name);
}

// A vector is a row on the left and a column on the right.
Tensor numpy_matmul(const Tensor& a, const Tensor& b);

// The product of all operands, summed over the axes that the result does not name: "bij,bjk->bik".
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

inline Shape shape_of(const std::vector<int64_t>& sizes) {
  return Shape{std::span<const int64_t>(sizes)};
}

}  // namespace plimsoll::onnx
