// Convolution without im2col: windows are read where they lie, in a patch of the image that stays
// in the cache, and blocks of results are summed in registers.
#pragma once

#include "core/tensor/value.h"
#include "ops/conv/conv2d/window.h"

namespace plimsoll {

// y = conv(x, w): conv2d, or one part of its input gradient. Here "inputs" are the channels that
// are summed over and "outputs" the channels that are written, each of one group.
struct DenseConv {
  Window win;
  int64_t images;
  bool is_product;  // as of ConvSizes
  int64_t groups, inputs, outputs;
  // Filter element (output o, tap row r, tap column s, input c) of group g is number
  // first + g group + o output + r row + s col + c input of the tensor w.
  struct Steps {
    int64_t first, group, output, row, col, input;
  } w;

  int64_t pixels() const { return images * win.h.in * win.w.in; }
  int64_t depth() const { return win.h.taps * win.w.taps * inputs; }  // terms of each sum
};

DenseConv dense_forward(const ConvSizes& sizes);
DenseConv dense_input_grad(const ConvSizes& sizes, Pair remainder);

int64_t dense_workspace(const DenseConv& conv, DType dtype);
// bias: [groups outputs], or none where its data is nullptr.
void dense_cpu(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y,
               std::span<std::byte> workspace);

int64_t dense_weight_grad_workspace(const ConvSizes& sizes, DType dtype);
void dense_weight_grad_cpu(const ConvSizes& sizes, const View& x, const View& dy, const View& dw,
                           std::span<std::byte> workspace);

}  // namespace plimsoll
