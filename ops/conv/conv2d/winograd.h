// Convolution with 3 x 3 filters by 16 multiplications for every 2 x 2 results instead of 36.
//
// Winograd's F(2 x 2, 3 x 3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2016): a tile d of 4 x 4 pixels and a filter g give the 2 x 2 results
//
//   y = A' [(G g G') * (B' d B)] A        * element by element, summed over the channels in between
//
//   B' = 1  0 -1  0      G =  1    0   0      A' = 1  1  1  0
//        0  1  1  0          1/2  1/2 1/2          0  1 -1 -1
//        0 -1  1  0          1/2 -1/2 1/2
//        0  1  0 -1           0    0   1
//
// The 16 places are independent of one another: for each, a matrix product over the channels. The
// gradient for g is the transpose of all that: G' [sum over tiles of (B' d B) (A dy A')'] G.
// Results differ from the direct sum by rounding, about twice as much as its own error where they
// are as large as the largest of their tile; a result that is small beside those has their error.
// An infinite pixel, being added and subtracted, gives NaN where the direct sum gives infinity.
#pragma once

#include "ops/conv/conv2d/dense.h"

namespace plimsoll::winograd {

constexpr int kPlaces = 16;

// Whether it applies, and pays: f32 or 16 bits, which are computed in f32, filters of 3 x 3 at
// stride and dilation 1, whole vectors of channels.
bool suits(const DenseConv& conv, DType dtype);
bool suits_weight_grad(const ConvSizes& sizes, DType dtype);

int64_t workspace(const DenseConv& conv);
// bias: [outputs], or no memory.
void convolve(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y,
              std::span<std::byte> workspace);

int64_t weight_grad_workspace(const ConvSizes& sizes);
void weight_grad(const ConvSizes& sizes, const View& x, const View& dy, const View& dw,
                 std::span<std::byte> workspace);

}  // namespace plimsoll::winograd
