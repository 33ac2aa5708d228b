// BatchStatistics: who wants the statistics of training batches instead of the running ones being
// moved at once, such as ranks that train a window of batches together and move them in the order
// of the batches.
//
//   nn::Mode mode = nn::training(key);
//   mode.statistics = &gathered;
//   model(x, mode);                    // gathered.keep(...) once for each batch norm, in order
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll::nn {

class BatchStatistics {
 public:
  virtual ~BatchStatistics() = default;

  // Instead of update_running_stats(running_mean, running_variance, mean, variance, momentum,
  // positions). What it writes, it writes by ops: a checkpoint that recomputes leaves those out.
  virtual void keep(const Tensor& running_mean, const Tensor& running_variance, const Tensor& mean,
                    const Tensor& variance, double momentum, int64_t positions) const = 0;
};

}  // namespace plimsoll::nn
