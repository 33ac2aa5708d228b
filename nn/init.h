// Initialisation: the values that parameters start from.
//
//   nn::Initializer init{.seed = 1};                               // f32 on the cpu
//   nn::Initializer plan{.placement = {.device = Device::null}};    // shapes only, no bytes
//   nn::Linear layer(784, 10, init);
//   Tensor w = nn::init::kaiming_normal({64, 3, 3, 32}, init);      // [O, KH, KW, I]
//   nn::assign(model.named_parameters()[0].tensor, w);
//
// Every function draws a new tensor of `shape` with init's next key, dtype and device. The
// variance is chosen so that signals (fan in) or gradients (fan out) keep their size from layer to
// layer.
#pragma once

#include "core/base/philox.h"
#include "ops/random/full/full.h"

namespace plimsoll::nn {

// What new modules draw their values from. Each random tensor takes its own key, in the order of
// construction, so one seed always gives the same model.
struct Initializer {
  uint64_t seed = 0;
  Placement placement{};  // dtype and device of parameters and buffers
  Keys keys{seed};        // where the next random numbers come from; leave it to its default
  bool draws = true;      // false: zeros in their place, where weights will be read anyway
};

// Overwrites a parameter or buffer in place: every handle sees the new values. Both have the same
// shape, dtype and device: ShapeError or DTypeError otherwise.
void assign(const Tensor& target, const Tensor& values);

namespace init {

// Of weights [O, I] and filters [O, KH, KW, I / groups]: in = product of all axes but the first,
// out = O KH KW (PyTorch's rule: groups do not divide it). ShapeError below two axes.
struct Fans {
  double in, out;
};
Fans fans(const Shape& weight);

Tensor zeros(const Shape& shape, const Initializer& init);
Tensor ones(const Shape& shape, const Initializer& init);
Tensor uniform(const Shape& shape, double low, double high, Initializer& init);  // U[low, high)
Tensor normal(const Shape& shape, double std, Initializer& init);                // N(0, std^2)

// N(0, std^2) without its tails: drawn again until |value| <= bound * std, as TensorFlow does with
// bound 2, where the variance is 0.774 std^2. ValueError for a bound below 0.1 (or std below 0).
Tensor truncated_normal(const Shape& shape, double std, Initializer& init, double bound = 2);

// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
// 2010. Variance gain^2 * 2 / (in + out): for tanh and linear layers.
Tensor xavier_uniform(const Shape& shape, Initializer& init, double gain = 1);
Tensor xavier_normal(const Shape& shape, Initializer& init, double gain = 1);

// He et al., "Delving Deep into Rectifiers", 2015. Variance 2 / ((1 + slope^2) fan): for relu
// (slope 0) and leaky relu.
enum class Fan { in, out };  // keep the size of signals, or of gradients
struct Kaiming {
  double slope = 0;
  Fan fan = Fan::in;
};
Tensor kaiming_uniform(const Shape& shape, Initializer& init, const Kaiming& options = {});
Tensor kaiming_normal(const Shape& shape, Initializer& init, const Kaiming& options = {});

// U(-b, b) with b = 1 / sqrt(fan_in): what PyTorch gives the weights and biases of Linear and Conv
// (its kaiming_uniform with slope sqrt(5)), and what the modules here start from.
Tensor fan_in_uniform(const Shape& shape, double fan_in, Initializer& init);

}  // namespace init
}  // namespace plimsoll::nn
