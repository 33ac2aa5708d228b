// Normalisation: scale and shift to mean 0 and variance 1, then y = gamma x + beta.
//
//   nn::BatchNorm2d bn(64, init);                     // over N, H, W of [N, H, W, 64]
//   nn::GroupNorm gn(8, 64, init);                    // over H, W and 8 channels of each image
//   nn::LayerNorm ln(256, init);                      // over the last axis of [..., 256]
//   nn::RMSNorm rms(256, init);                       // the same without mean and beta
//
// gamma starts at 1, beta at 0; both are f32 even where x has 16 bits. Errors: ValueError for sizes
// below 1, a negative eps and a momentum outside [0, 1], ShapeError for an x of another number of
// channels.
#pragma once

#include "nn/module.h"

namespace plimsoll::nn {

struct BatchNorm2dOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // running = (1 - momentum) running + momentum batch
};

// Ioffe and Szegedy, "Batch Normalization", 2015. Training normalises by the statistics of the
// batch and moves the running ones (buffers running_mean, running_variance: the variance unbiased,
// as in PyTorch), unless Mode::statistics takes those of the batch; evaluation normalises by the
// running ones. Parameters: gamma, beta.
class BatchNorm2d : public Module {
 public:
  BatchNorm2d(int64_t channels, Initializer& init, const BatchNorm2dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;
  const Tensor& running_mean() const { return running_mean_; }

 private:
  BatchNorm2dOptions options_;
  Tensor gamma_, beta_, running_mean_, running_variance_;
};

// Who wants the statistics of training batches instead of the running ones being moved at once,
// such as ranks that train a window of batches together (Mode::statistics). Each forward pass calls
// keep() once for each batch norm, in order, and a checkpoint that recomputes once more.
class BatchStatistics {
 public:
  virtual ~BatchStatistics() = default;

  // Instead of update_running_stats(running_mean, running_variance, mean, variance, momentum,
  // positions). What it writes, it writes by ops: a checkpoint that recomputes leaves those out.
  virtual void keep(const Tensor& running_mean, const Tensor& running_variance, const Tensor& mean,
                    const Tensor& variance, double momentum, int64_t positions) const = 0;
};

struct LayerNormOptions {
  double eps = 1e-5;
};

// Ba, Kiros and Hinton, "Layer Normalization", 2016. Parameters: gamma, beta.
class LayerNorm : public Module {
 public:
  LayerNorm(int64_t width, Initializer& init, const LayerNormOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  LayerNormOptions options_;
  Tensor gamma_, beta_;
};

struct RMSNormOptions {
  double eps = 1e-6;
};

// Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019. Parameter: gamma.
class RMSNorm : public Module {
 public:
  RMSNorm(int64_t width, Initializer& init, const RMSNormOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  RMSNormOptions options_;
  Tensor gamma_;
};

struct GroupNormOptions {
  double eps = 1e-5;
};

// Wu and He, "Group Normalization", 2018; with a group for each channel instance normalisation. x
// [N, ..., channels]. Parameters: gamma, beta. ValueError when the groups do not divide the
// channels.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t groups, int64_t channels, Initializer& init,
            const GroupNormOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t groups_;
  GroupNormOptions options_;
  Tensor gamma_, beta_;
};

}  // namespace plimsoll::nn
