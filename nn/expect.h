// What modules expect of their sizes and inputs, in the same words everywhere.
//
//   check_width("linear", x, 784);     // linear: the last axis of the input is not 784: ...
#pragma once

#include "ops/common/expect.h"

namespace plimsoll::nn {

// Sizes given to a constructor, all at least 1. ValueError.
inline void check_positive(const char* module, const char* what, const Shape& sizes) {
  for (const int64_t size : sizes)
    check<ValueError>(size >= 1, module, ": the ", what, " are not all positive: ", sizes,
                      ". Use sizes of at least 1.");
}

// Channels that groups divide on both sides. ValueError.
inline void check_groups(const char* module, int64_t in, int64_t out, int64_t groups) {
  check<ValueError>(in % groups == 0 && out % groups == 0, module, ": ", groups,
                    " groups do not divide the channels: ", in, " to ", out,
                    ". Choose a number that divides both.");
}

// x is [..., width]. StateError for an undefined one, else ShapeError.
inline void check_width(const char* module, const Tensor& x, int64_t width) {
  check_defined(module, x);
  check<ShapeError>(x.rank() >= 1 && x.shape().back() == width, module,
                    ": the last axis of the input is not ", width, ": got ", x.shape(),
                    ". Match the width that the module was built for.");
}

// x is [N, H, W, channels]. StateError for an undefined one, else ShapeError.
inline void check_image(const char* module, const Tensor& x, int64_t channels) {
  check_defined(module, x);
  check<ShapeError>(x.rank() == 4 && x.shape().back() == channels, module,
                    ": the input is not [N, H, W, ", channels, "]: got ", x.shape(),
                    ". Match the channels that the module was built for.");
}

// x is [B, T, width]. StateError for an undefined one, else ShapeError.
inline void check_sequence(const char* module, const Tensor& x, int64_t width) {
  check_defined(module, x);
  check<ShapeError>(x.rank() == 3 && x.shape().back() == width, module,
                    ": the input is not [B, T, ", width, "]: got ", x.shape(),
                    ". Match the width that the module was built for.");
}

}  // namespace plimsoll::nn
