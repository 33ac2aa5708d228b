// OpDef.code of ops over rows: the function objects of ops/element_rows.cuh, which only generated
// kernels define.
//
//   {.tiling = Tiling::rows, .code = code_of<element::Softmax<false>>, ...}
//
// All inputs that are not in OpDef::whole have the shape of output 0, or one element for each row,
// as the other outputs have.
#pragma once

#include "ops/formula_op.h"

namespace plimsoll::element {

struct LayerNorm;
struct RmsNorm;
template <bool kLog>
struct Softmax;
template <bool kLog>
struct SoftmaxGradient;
// Its other outputs are sums over the rows, and it has no tiling.
template <bool kCentred>
struct NormGradient;

}  // namespace plimsoll::element
