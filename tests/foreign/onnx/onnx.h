// ONNX models and tensors, read from protobuf's wire format without protobuf. Only what tests of
// single ops need: nodes, their attributes, names, and tensors.
//
//   const onnx::Graph graph = onnx::read_model(read_bytes(folder / "model.onnx"));
//   const Tensor x = onnx::read_tensor(read_bytes(folder / "input_0.pb"));
//   const double eps = graph.nodes[0].real("epsilon", 1e-5);
//
// DataError where the bytes are damaged: a length or a number that goes past the end, counts that
// do not fit. Unsupported where they are sound but say something that is not read here.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "core/tensor/tensor.h"

namespace plimsoll::onnx {

struct Unsupported : Error {
  using Error::Error;
};

// i8, i16, u16 are widened to i32, and u32, u64 to i64: the engine has no such types. What an op
// makes of them is the same unless it overflows.
Tensor read_tensor(std::string_view bytes);

// ONNX's number of a dtype, as in Cast's attribute `to`, in the engine's terms, unwidened.
DType dtype_of_number(int64_t number);

struct Attribute {
  double real = 0;
  int64_t integer = 0;
  std::string text;
  std::vector<double> reals;
  std::vector<int64_t> integers;
  Tensor tensor;
  bool readable = true;  // false: a graph, strings, or another kind that is not read
};

// Attributes count as read when they are asked for, so that one nobody asked for is noticed.
class Node {
 public:
  std::string op, domain;
  std::vector<std::string> inputs, outputs;  // "" is an optional one that is absent
  std::map<std::string, Attribute> attributes;

  bool has(const std::string& name) const { return find(name) != nullptr; }
  double real(const std::string& name, double otherwise) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  bool flag(const std::string& name, bool otherwise = false) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  std::vector<int64_t> integers(const std::string& name, std::vector<int64_t> otherwise) const;
  std::vector<double> reals(const std::string& name) const;  // none: empty
  Tensor tensor(const std::string& name) const;              // undefined: there is none
  std::vector<std::string> unread() const;

 private:
  const Attribute* find(const std::string& name) const;
  mutable std::set<std::string> read_;
};

struct Graph {
  std::vector<Node> nodes;                   // each after those whose outputs it takes
  std::map<std::string, Tensor> constants;   // initializers
  std::vector<std::string> inputs, outputs;  // names, in the order of the files
  std::string other_type;                    // an input or output that is not a tensor: its name
  std::map<std::string, int64_t> opsets;     // version by domain; "" is ONNX's own
};
Graph read_model(std::string_view bytes);

}  // namespace plimsoll::onnx
