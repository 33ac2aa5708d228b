// A case of PyTorch's ops, compared with the engine in f64, f32 and bf16 (PyTorch's CPU has few ops
// in f16): results, and vector-Jacobian products where the file has them.
//
//   std::string wrong = golden::Comparison(entry, tensors).wrong(run);  // "": all agree
#pragma once

#include "tests/foreign/pytorch/pytorch.h"
#include "tests/support/op_case.h"

namespace plimsoll::golden {

Array array_of(const Tensor& tensor);

struct Tolerance;  // a type and what is allowed in it

class Comparison {
 public:
  // `entry` is the manifest's, and outlives this: a name, attributes, PyTorch's own errors.
  // `file` has in.*, out.*, gout.* and grad.*.
  Comparison(const Json& entry, Tensors file);

  // "" or what is wrong. A type in which PyTorch itself is off by 0.1 or more is left out, and
  // named. Unsupported: something was asked for that nobody looked at, or some out.*, gout.* or
  // grad.* was compared with nothing.
  std::string wrong(const Run& run);

 private:
  // The first combination of what the manifest leaves out that agrees in f64 is taken. When none
  // does, the first one's error counts, unless it was about something that nobody looked at.
  std::string search(const Run& run);
  std::string compare(const Run& run, const Tolerance& tolerance);

  const Json& entry_;
  const Json attrs_;
  const Tensors file_;
  std::vector<Tensor> results_;
  Choices choices_;
  Read read_;
  std::set<std::string> judged_;  // names in the file
};

}  // namespace plimsoll::golden
