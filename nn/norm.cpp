#include "nn/norm.h"

#include "nn/expect.h"
#include "ops/norm/batch_norm/batch_norm.h"
#include "ops/norm/group_norm/group_norm.h"
#include "ops/norm/layer_norm/layer_norm.h"
#include "ops/norm/rms_norm/rms_norm.h"

namespace plimsoll::nn {
namespace {

// What normalising works with is not narrowed: f32 for 16-bit types, as the ops ask for.
Placement wide(const Initializer& init) {
  Placement placement = init.placement;
  if (placement.dtype != DType::f64) placement.dtype = DType::f32;
  return placement;
}

}  // namespace

BatchNorm2d::BatchNorm2d(int64_t channels, Initializer& init, const BatchNorm2dOptions& options)
    : options_(options) {
  check_positive("batch_norm", "channels", {channels});
  check_eps("batch_norm", options.eps);
  check<ValueError>(options.momentum >= 0 && options.momentum <= 1,
                    "batch_norm: momentum is not in [0, 1]: ", options.momentum,
                    ". Use 0.1 or so.");
  gamma_ = add_parameter("gamma", ones({channels}, wide(init)));
  beta_ = add_parameter("beta", zeros({channels}, wide(init)));
  running_mean_ = add_buffer("running_mean", zeros({channels}, wide(init)));
  running_variance_ = add_buffer("running_variance", ones({channels}, wide(init)));
}

Tensor BatchNorm2d::forward(const Tensor& x, const Mode& mode) const {
  check_image("batch_norm", x, gamma_.size(0));
  if (!mode.training)
    return batch_norm_inference(x, gamma_, beta_, running_mean_, running_variance_, options_.eps);
  const auto [y, mean, variance] = batch_norm(x, gamma_, beta_, options_.eps);
  const int64_t positions = x.count() / gamma_.size(0);
  if (mode.statistics)
    mode.statistics->keep(running_mean_, running_variance_, mean, variance, options_.momentum,
                          positions);
  else
    update_running_stats(running_mean_, running_variance_, mean, variance, options_.momentum,
                         positions);
  return y;
}

LayerNorm::LayerNorm(int64_t width, Initializer& init, const LayerNormOptions& options)
    : options_(options) {
  check_positive("layer_norm", "width", {width});
  check_eps("layer_norm", options.eps);
  gamma_ = add_parameter("gamma", ones({width}, wide(init)));
  beta_ = add_parameter("beta", zeros({width}, wide(init)));
}

Tensor LayerNorm::forward(const Tensor& x, const Mode&) const {
  check_width("layer_norm", x, gamma_.size(0));
  return layer_norm(x, gamma_, beta_, options_.eps);
}

RMSNorm::RMSNorm(int64_t width, Initializer& init, const RMSNormOptions& options)
    : options_(options) {
  check_positive("rms_norm", "width", {width});
  check_eps("rms_norm", options.eps);
  gamma_ = add_parameter("gamma", ones({width}, wide(init)));
}

Tensor RMSNorm::forward(const Tensor& x, const Mode&) const {
  check_width("rms_norm", x, gamma_.size(0));
  return rms_norm(x, gamma_, options_.eps);
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, Initializer& init,
                     const GroupNormOptions& options)
    : groups_(groups), options_(options) {
  check_positive("group_norm", "groups and channels", {groups, channels});
  check<ValueError>(channels % groups == 0, "group_norm: ", groups,
                    " groups do not divide the channels: ", channels,
                    ". Choose a number that does.");
  check_eps("group_norm", options.eps);
  gamma_ = add_parameter("gamma", ones({channels}, wide(init)));
  beta_ = add_parameter("beta", zeros({channels}, wide(init)));
}

Tensor GroupNorm::forward(const Tensor& x, const Mode&) const {
  check_width("group_norm", x, gamma_.size(0));
  return group_norm(x, groups_, gamma_, beta_, options_.eps);
}

}  // namespace plimsoll::nn
