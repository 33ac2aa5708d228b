// Convolutions of bfloat16 on the tile unit, as matrix products: a row is what a window reads, tap
// by tap. The matrix (im2col) is never there: its rows are read in the image, or gathered where a
// block of the product needs them.
//
//   y[window, output]  = sum over the terms of a window of window[term] * filter[output, term]
//   dw[output, term]   = sum over all windows of dy[window, output] * window[term]
#pragma once

#include "ops/conv/conv2d/dense.h"

namespace plimsoll::implicit_gemm {

// Whether it applies: bfloat16 that is multiplied by tiles, one group, and windows that are runs of
// several numbers. Short ones, of 5 x 5 pixels of one channel for example, take longer to gather
// than to multiply in f32.
bool suits(const DenseConv& conv, DType dtype);

// bias: [outputs], or no memory.
void convolve(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y);

// Sums over `parts` of the batch, which are then added up in order. More than one take as many
// copies of dw in f32, in `workspace`.
void weight_grad(const ConvSizes& sizes, const View& x, const View& dy, const View& dw,
                 int64_t parts, std::span<std::byte> workspace);

}  // namespace plimsoll::implicit_gemm
