// The losses of rows of logits and their gradients on a GPU, a block for each row: the twin of
// rows.h. x and dx hold the rows from number `first` on, `pitch` apart; everything else holds them
// all.
#pragma once

#include "ops/common/online_softmax.cuh"
#include "ops/loss/common/class_loss.cuh"
#include "ops/loss/cross_entropy/attrs.h"

namespace plimsoll::cuda {

// The mass of a label: at_label on it, everywhere on each class.
template <class C>
struct Smoothing {
  C at_label, everywhere;  // 1 - e, e/C
  Smoothing(double e, int64_t classes)
      : at_label(static_cast<C>(1 - e)),
        everywhere(static_cast<C>(e / static_cast<double>(std::max<int64_t>(classes, 1)))) {}
};

// sum_c w_c, where it is of account. A whole block calls it and gets the result.
template <class C>
__device__ C sum_of_weights(const ClassRows<C>& rows, const Smoothing<C>& smoothing) {
  if (!rows.weight || smoothing.everywhere == 0) return static_cast<C>(rows.classes);
  double total = 0;
  for (int64_t c = threadIdx.x; c < rows.classes; c += blockDim.x)
    total += static_cast<double>(rows.weight[c]);
  return static_cast<C>(over_block(total, Plus()));
}

// losses[row] in double for their sum, and each[row] unless `each` is nullptr.
template <class C>
__global__ void cross_entropy_kernel(Elements<C> x, int64_t pitch, ClassRows<C> rows,
                                     Smoothing<C> smoothing, int64_t first, double* losses, C* each,
                                     LogSum<C>* log_sums) {
  const int64_t row = first + blockIdx.x, n = rows.classes, label = rows.label_of(row);
  const int64_t start = blockIdx.x * pitch;
  const auto [m, total] = online_softmax(x, start, n);
  const LogSum<C> log_sum{m, std::log(total)};
  double loss = 0;
  if (label >= 0) {
    const double rest = static_cast<double>(log_sum.log_total);
    const double miss = rest + (static_cast<double>(m) - static_cast<double>(x.get(start + label)));
    loss = static_cast<double>(smoothing.at_label * rows.weight_of(label)) * miss;
    if (smoothing.everywhere != 0) {
      C below = 0;
      for (int64_t c = threadIdx.x; c < n; c += blockDim.x)
        below += rows.weight_of(c) * (m - x.get(start + c));
      below = over_block(below, Plus());
      loss += static_cast<double>(smoothing.everywhere) *
              (static_cast<double>(sum_of_weights(rows, smoothing)) * rest +
               static_cast<double>(below));
    }
  }
  if (threadIdx.x > 0) return;
  log_sums[row] = log_sum;
  losses[row] = loss;
  if (each) each[row] = static_cast<C>(loss);
}

// dx may be x: every element is read by the thread that writes it.
template <class C>
__global__ void cross_entropy_grad_kernel(const C* dy, bool each, Elements<C> x, ClassRows<C> rows,
                                          Smoothing<C> smoothing, const LogSum<C>* log_sums,
                                          const double* divisor, Elements<C> dx, int64_t pitch,
                                          int64_t first) {
  const int64_t row = first + blockIdx.x, n = rows.classes, label = rows.label_of(row);
  const int64_t start = blockIdx.x * pitch;
  if (label < 0) {
    for (int64_t c = threadIdx.x; c < n; c += blockDim.x) dx.set(start + c, 0);
    return;
  }
  const LogSum<C> sum = log_sums[row];
  const C scale = dy[each ? row : 0] / static_cast<C>(*divisor);
  const C own = smoothing.at_label * rows.weight_of(label), everywhere = smoothing.everywhere;
  const C mass = own + everywhere * sum_of_weights(rows, smoothing);
  const int64_t end = start + n;
  for (int64_t i = first_pack(start); i < end; i += blockDim.x * kPack) {
    C values[kPack];
    x.get(i, end, values);
    for (int j = 0; j < kPack; ++j) {
      const int64_t c = i + j - start;
      if (c < 0 || c >= n) continue;
      const C p = math::exp_of_negative(values[j] - sum.highest - sum.log_total);
      const C share = everywhere == 0 ? C(0) : everywhere * rows.weight_of(c);
      values[j] =
          c == label ? (mass * p - own - share) * scale : p * (mass * scale) - share * scale;
    }
    if (i >= start) {
      dx.set(i, end, values);
    } else {
      for (int j = 0; j < kPack; ++j)
        if (i + j >= start && i + j < end) dx.set(i + j, values[j]);
    }
  }
}

}  // namespace plimsoll::cuda
