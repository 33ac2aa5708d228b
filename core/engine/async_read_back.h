// AsyncReadBack: a number of a tensor that the host reads back later. A GPU is still at work on it
// when the host goes on.
//
//   const AsyncReadBack loss(step(x, y));
//   ...                                // more steps, which the host prepares meanwhile
//   log(loss.value());                 // waits until the GPU has come so far, no further
#pragma once

#include "core/cuda/seam/cuda_queue.h"
#include "core/tensor/tensor.h"

namespace plimsoll {

class AsyncReadBack {
 public:
  // One that is known already.
  AsyncReadBack(double value) : value_(value) {}
  // What the single element of `scalar` is now. Errors: as Tensor::item(). Only f32, f64 and i64
  // are late; where they lie on the CPU, and in other types, the value is read here.
  explicit AsyncReadBack(const Tensor& scalar);

  bool known() const { return !fetch_; }  // value() does not wait
  // Throws what kernels met before that, such as IndexError, once.
  double value() const;

 private:
  double value_ = 0;
  CudaFetch fetch_;
  DType dtype_ = DType::f64;
};

}  // namespace plimsoll
