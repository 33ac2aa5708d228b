// Convolutions over sequences [N, L, C].
//
//   nn::Conv1d conv(16, 32, 3, build, {.padding = 1});                // [N, L, 16] -> [N, L, 32]
//   nn::Conv1d causal(16, 32, 3, build, {.padding = {2, 0}});         // sees no later place
//   nn::ConvTranspose1d up(32, 16, 2, build, {.stride = 2});          // [N, L, 32] -> [N, 2 L, 16]
//
// Filters are [out, K, in / groups], and [in, K, out / groups] of the transposed one. Weights and
// biases start from U(-b, b), b = 1 / sqrt(K times the filter's last axis), as in PyTorch. Errors:
// ValueError for sizes below 1 or channels that groups do not divide, ShapeError for an x of
// another number of channels.
#pragma once

#include "nn/module.h"
#include "ops/conv/conv1d/conv1d.h"

namespace plimsoll::nn {

struct Conv1dOptions {
  int64_t stride = 1;
  Sides padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

class Conv1d : public Module {
 public:
  Conv1d(int64_t in, int64_t out, int64_t kernel, Build& build, const Conv1dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  Conv1dAttrs attrs_;
  Tensor weight_, bias_;
};

struct ConvTranspose1dOptions {
  int64_t stride = 1;
  Sides padding = 0;
  int64_t output_padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

class ConvTranspose1d : public Module {
 public:
  ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, Build& build,
                  const ConvTranspose1dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  ConvTranspose1dAttrs attrs_;
  Tensor weight_, bias_;
};

}  // namespace plimsoll::nn
