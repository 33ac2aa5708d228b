// A number in device memory, f32 or f64, such as the learning rate: the twin of read_scalar().
//
//   launch(kernel, blocks, threads, scalar(call.in[1]), ...);        // host
//   const double lr = rate.get();                                    // device
#pragma once

#include "core/cuda/runtime.h"

namespace plimsoll::cuda {

struct Scalar {
  const void* data;
  bool wide;  // f64
  __device__ double get() const {
    return wide ? *static_cast<const double*>(data)
                : static_cast<double>(*static_cast<const float*>(data));
  }
};

inline Scalar scalar(const View& view) { return {view.data, view.dtype() == DType::f64}; }

}  // namespace plimsoll::cuda
