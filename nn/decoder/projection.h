// Projection: a matrix of a decoder, frozen or trained, perhaps with an adapter beside it.
//
//   nn::Projection up(parts.in("up_proj"), {.in = 2048, .out = 5632});
//   Tensor y = up(x, mode);                            // [..., 2048] -> [..., 5632]
//
// Its tensors are weight, [out, in] or, as GPT-2 has it, [in, out], and perhaps bias [out]. In
// place of a weight in fewer bits they are what that is made of (ops/quantise/quantise/quantise.h):
// codes, scales, and of nf4 block_scales and offset. Children of one that is adapted: those of
// Lora.
#pragma once

#include "nn/decoder/lora.h"
#include "nn/decoder/parts.h"

namespace plimsoll::nn {

// y = x W' + b, or x W + b where W is `transposed`: the one place that knows in what form a base
// has its matrices. What has another type than x is converted for each product, forward and
// backward: the tape keeps x and the matrix, never the converted one.
Tensor base_product(const Tensor& x, const Tensor& weight, const Tensor& bias, bool transposed);

struct ProjectionOptions {
  int64_t in = 0, out = 0;
  bool bias = false;
  bool transposed = false;  // the weight is [in, out]
};

class Projection : public Module {
 public:
  Projection(const Parts& parts, const ProjectionOptions& options);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

  const Tensor& weight() const { return weight_; }  // undefined in fewer bits
  const std::optional<Quantised>& quantised() const { return quantised_; }
  const Lora* lora() const { return lora_; }
  // The weight with what the adapter adds to it, in the weight's type and layout; without one the
  // weight itself. Of one in fewer bits, what the codes stand for, in f32.
  Tensor merged() const;

 private:
  Tensor base(const Tensor& x) const;

  ProjectionOptions options_;
  Tensor weight_, bias_;
  std::optional<Quantised> quantised_;
  const Lora* lora_ = nullptr;
};

}  // namespace plimsoll::nn
