// Lora: what a low-rank adapter adds to a frozen matrix (Hu et al., "LoRA", arXiv 2106.09685).
//
//   nn::Lora lora(768, 2304, {.rank = 16, .alpha = 32}, init);
//   Tensor y = base + lora(x, mode);                   // [..., 768] -> [..., 2304]
//
// scale B (A dropout(x)), with A [rank, in] from U(-1 / sqrt(in), 1 / sqrt(in)) and B [out, rank]
// from 0, so that training begins with the base as it is. Children: lora_A, lora_B, as in PEFT's
// files. ValueError for a rank outside 1 ... min(in, out) and a share to drop outside [0, 1).
#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"

namespace plimsoll::nn {

struct LoraOptions {
  int64_t rank = 8;
  double alpha = 8;
  double dropout = 0;            // of what goes into A
  bool rank_stabilised = false;  // alpha / sqrt(rank) (Kalajdzievski, arXiv 2312.03732)
  // Which matrices: those whose name is one of these or ends with "." and it; "all-linear": all
  // but the output layer.
  std::vector<std::string> targets = {};

  double scale() const;
  bool adapts(const std::string& name) const;
};

class Lora : public Module {
 public:
  Lora(int64_t in, int64_t out, const LoraOptions& options, Initializer& init);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

  // What the product with it is a product with: scale B A, [out, in].
  Tensor matrix() const;

 private:
  double scale_;
  const Dropout& dropout_;
  const Linear &a_, &b_;
};

}  // namespace plimsoll::nn
