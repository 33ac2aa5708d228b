// Convolution with filters of 3 x 3 by 36 multiplications for every 4 x 4 results instead of 144,
// and with filters of 5 x 5 by 36 for every 2 x 2 instead of 100.
//
// One axis first (Winograd, "Arithmetic Complexity of Computations", 1980; Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016). Let r taps g and m results dy be the
// coefficients of polynomials. The product has r + m - 1 = 6 coefficients, and its values at six
// points give them: the values at a point are multiplied, one multiplication a point instead of r m
// for all. A convolution is the transpose of that product. With
//
//   E_n = the values of a polynomial of n coefficients at 0, a, -a, b, -b and infinity
//   B'  = the transpose of what leads from six values back to six coefficients
//
// the results of six pixels d are  y = E_m' [E_r g * B' d],  element by element in between; E_r has
// the divisors of that way back in its rows. Along both axes, summed over the channels:
//
//   y  = E_m' [sum of (E_r g E_r') * (B' d B)] E_m
//   dg = E_r' [sum of (B' d B) * (E_m dy E_m')] E_r      the gradient for g, over all tiles
//
// The 36 places are independent of one another: for each, a matrix product over the channels.
//
// The smaller and the nearer to 1 the points, the less is lost: with 1 and 2 errors are twice those
// with a = 5/8 and b = 3/2 (docs/precision.md has them). They are relative to the largest values of
// a tile, as pixels enter results in whose window they are not, and cancel: only up to rounding,
// and not if they are infinite.
#pragma once

#include "ops/conv/conv2d/dense.h"

namespace plimsoll::winograd {

// Whether it applies, and pays: f32 or 16 bits, which are computed in f32; one group, filters of
// 3 x 3 or 5 x 5 at stride and dilation 1, whole vectors of channels and at least 16; products
// saved, at least half of them and as many as the filters' transforms take.
bool suits(const DenseConv& conv, DType dtype);
// The gradient transforms a filter once for all tiles, at the end.
bool suits_weight_grad(const ConvSizes& sizes, DType dtype);
// Whether it pays even beside direct sums of pairs of bf16, two products at a time.
bool beats_pairs(const DenseConv& conv);

int64_t workspace(const DenseConv& conv);
// bias: [outputs], or no memory.
void convolve(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y,
              std::span<std::byte> workspace);

int64_t weight_grad_workspace(const ConvSizes& sizes);
void weight_grad(const ConvSizes& sizes, const View& x, const View& dy, const View& dw,
                 std::span<std::byte> workspace);

}  // namespace plimsoll::winograd
