// Losses of class labels on a GPU: the twin of ops/loss/common/class_loss.h.
//
//   void bad_label(int64_t position, int64_t label, int64_t limit) {
//     throw_bad_label("nll_loss", position, label, limit);
//   }
//   const ClassRows<C> rows(call.in[1], weight, classes, ignore_index, bad_label);    // host
//   const int64_t label = rows.label_of(row);                                         // device
#pragma once

#include "core/cuda/elements.cuh"
#include "core/cuda/faults.cuh"
#include "core/cuda/launch.cuh"
#include "ops/loss/common/class_loss.h"

namespace plimsoll::cuda {

// What a sentence about a label needs, as the limit of a fault. An ignore_index beyond 32 bits is
// cut off.
inline int64_t label_limit(int64_t classes, int64_t ignore_index) {
  return static_cast<int64_t>(static_cast<uint64_t>(classes) << 32 |
                              static_cast<uint32_t>(ignore_index));
}
[[noreturn]] inline void throw_bad_label(const char* op, int64_t position, int64_t label,
                                         int64_t limit) {
  plimsoll::throw_bad_label(op, position, label, limit >> 32,
                            static_cast<int32_t>(limit & 0xffffffff));
}

template <class C>
struct ClassRows {
  const int64_t* label;
  const C* weight;  // nullptr: all classes count 1
  int64_t count, classes, ignore_index;
  uint64_t* fault;

  ClassRows(const View& labels, const View* weights, int64_t c, int64_t ignored, ThrowFault bad)
      : label(labels.as<int64_t>()),
        weight(weights ? weights->as<C>() : nullptr),
        count(plimsoll::count(labels.shape())),
        classes(c),
        ignore_index(ignored),
        fault(fault_word(bad, label_limit(c, ignored))) {}

  // -1 for a row that does not count. A label out of range is noted and does not count either.
  __device__ int64_t label_of(int64_t row) const {
    const int64_t own = label[row];
    if (own == ignore_index) return -1;
    if (own >= 0 && own < classes) return own;
    note_fault(fault, row, own);
    return -1;
  }
  __device__ C weight_of(int64_t own) const {
    if (own < 0) return 0;
    return weight ? weight[own] : C(1);
  }
};

constexpr int kReduceThreads = 1024;  // of the one block that adds up a number for each row

// What the sum of all losses is divided by. A whole block calls it and gets the result.
template <class C>
__device__ double divisor_of(const ClassRows<C>& rows, bool mean) {
  double total = 0;
  for (int64_t row = threadIdx.x; mean && row < rows.count; row += blockDim.x)
    total += static_cast<double>(rows.weight_of(rows.label_of(row)));
  return mean ? over_block(total, Plus()) : 1;
}

template <class C>
__global__ void __launch_bounds__(kReduceThreads)
    divisor_kernel(ClassRows<C> rows, bool mean, double* divisor) {
  const double total = divisor_of(rows, mean);
  if (threadIdx.x == 0) *divisor = total;
}

// y = the sum of the losses, or their mean.
template <class C>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_losses_kernel(ClassRows<C> rows, const double* losses, bool mean, C* y) {
  const double divisor = divisor_of(rows, mean);
  double total = 0;
  for (int64_t row = threadIdx.x; row < rows.count; row += blockDim.x) total += losses[row];
  total = over_block(total, Plus());
  if (threadIdx.x == 0) *y = static_cast<C>(total / divisor);
}

}  // namespace plimsoll::cuda
