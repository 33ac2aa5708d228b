// Transposed convolution: images [N, H, W, in] -> larger images [N, OH, OW, out].
//
//   nn::ConvTranspose2d up(64, 32, 2, build, {.stride = 2});  // doubles H and W
//
// OH = (H - 1) stride - top - bottom + dilation (KH - 1) + output_padding + 1. Filters are
// [in, KH, KW, out / groups]; weights and biases start from U(-b, b), b = 1 / sqrt(KH KW out /
// groups), as in PyTorch. Errors: ValueError for sizes below 1 or channels that groups do not
// divide, ShapeError for an x of another number of channels.
#pragma once

#include "nn/module.h"
#include "ops/conv/conv_transpose2d/conv_transpose2d.h"

namespace plimsoll::nn {

struct ConvTranspose2dOptions {
  Pair stride = 1;
  Padding padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(int64_t in, int64_t out, Pair kernel, Build& build,
                  const ConvTranspose2dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  ConvTranspose2dAttrs attrs_;
  Tensor weight_, bias_;
};

}  // namespace plimsoll::nn
