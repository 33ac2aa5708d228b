#include "nn/init.h"

#include <numbers>

#include "core/cpu/parallel.h"
#include "core/engine/transfer.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/random/random.h"

namespace plimsoll::nn {

void assign(const Tensor& target, const Tensor& values) {
  check<StateError>(target.defined() && values.defined(),
                    "assign: a tensor is undefined. Pass two that were computed.");
  check<ShapeError>(target.shape() == values.shape(), "assign: the shapes differ: ", values.meta(),
                    " into ", target.meta(), ". Give one value for each element.");
  check<DTypeError>(target.dtype() == values.dtype(), "assign: the dtypes differ: ", values.meta(),
                    " into ", target.meta(), ". Cast the values first.");
  check<DeviceError>(target.device() == values.device(),
                     "assign: the devices differ: ", values.meta(), " into ", target.meta(),
                     ". Make the values there.");
  if (target.device() == Device::null) return;
  const Tensor source = to_device(contiguous(values.detach()), Device::cpu);
  visit_any(target.dtype(), [&]<class T>() {
    target.write(std::span<const T>(source.data<T>(), static_cast<size_t>(source.count())));
  });
}

namespace init {
namespace {

constexpr double kMinBound = 0.1;  // below, nearly every draw would be thrown away

double fan_of(const Shape& shape, Fan fan) {
  const Fans both = fans(shape);
  return fan == Fan::in ? both.in : both.out;
}

double kaiming_std(const Shape& shape, const Kaiming& options) {
  return std::sqrt(2 / ((1 + options.slope * options.slope) * fan_of(shape, options.fan)));
}

double xavier_std(const Shape& shape, double gain) {
  const Fans both = fans(shape);
  return gain * std::sqrt(2 / (both.in + both.out));
}

// Drawn on the CPU and moved, so that a model starts with the same bits on every device.
template <class Draw>
Tensor drawn(const Shape& shape, Initializer& init, Draw&& draw) {
  if (!init.draws) return zeros(shape, init);
  Placement placement = init.placement;
  if (placement.device == Device::cuda) placement.device = Device::cpu;
  return to_device(draw(init.keys.next(), placement), init.placement.device);
}

// The variance of U(-b, b) is b^2 / 3.
Tensor uniform_of_std(const Shape& shape, double std, Initializer& init) {
  const double bound = std::sqrt(3.0) * std;
  return uniform(shape, -bound, bound, init);
}

// Draws of N(0, 1) for one element by the method of Box and Muller, until one is within the bound.
double truncated_draw(uint64_t key, uint64_t element, double bound) {
  for (uint64_t attempt = 0;; ++attempt) {
    const auto words = random_words(key, element, attempt);
    const double radius = std::sqrt(-2 * std::log((words[0] + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * words[1] * 0x1p-32;
    const double z = radius * std::cos(angle);
    if (std::abs(z) <= bound) return z;
  }
}

}  // namespace

Fans fans(const Shape& weight) {
  check<ShapeError>(weight.rank() >= 2, "fans: a weight has at least two axes: got ", weight,
                    ". Use [O, I] or [O, KH, KW, I].");
  Fans result{1, static_cast<double>(weight[0])};
  for (int axis = 1; axis < weight.rank(); ++axis) result.in *= static_cast<double>(weight[axis]);
  for (int axis = 1; axis + 1 < weight.rank(); ++axis)
    result.out *= static_cast<double>(weight[axis]);
  return result;
}

Tensor zeros(const Shape& shape, const Initializer& init) {
  return plimsoll::zeros(shape, init.placement);
}

Tensor ones(const Shape& shape, const Initializer& init) {
  return plimsoll::ones(shape, init.placement);
}

Tensor uniform(const Shape& shape, double low, double high, Initializer& init) {
  return drawn(shape, init, [&](uint64_t key, const Placement& placement) {
    return plimsoll::uniform(shape, low, high, key, placement);
  });
}

Tensor normal(const Shape& shape, double std, Initializer& init) {
  return drawn(shape, init, [&](uint64_t key, const Placement& placement) {
    return plimsoll::normal(shape, 0, std, key, placement);
  });
}

Tensor truncated_normal(const Shape& shape, double std, Initializer& init, double bound) {
  check<ValueError>(bound >= kMinBound && std >= 0, "truncated_normal: bad arguments: std ", std,
                    ", bound ", bound, ". Use a bound of at least ", kMinBound,
                    " standard deviations.");
  check<DTypeError>(is_floating(init.placement.dtype),
                    "truncated_normal: a floating type is needed: got ", init.placement.dtype,
                    ". Draw it in f32 and cast.");
  if (!init.draws) return zeros(shape, init);
  const uint64_t key = init.keys.next();
  if (init.placement.device == Device::null)
    return Tensor::empty({shape, init.placement.dtype, init.placement.device}, "truncated_normal");
  std::vector<double> values(static_cast<size_t>(count(shape)));
  parallel_for(count(shape), grain_for(50), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[i] = std * truncated_draw(key, static_cast<uint64_t>(i), bound);
  });
  const std::span<const double> all(values);
  return to_device(cast(Tensor::of(all, shape), init.placement.dtype), init.placement.device);
}

Tensor xavier_uniform(const Shape& shape, Initializer& init, double gain) {
  return uniform_of_std(shape, xavier_std(shape, gain), init);
}

Tensor xavier_normal(const Shape& shape, Initializer& init, double gain) {
  return normal(shape, xavier_std(shape, gain), init);
}

Tensor kaiming_uniform(const Shape& shape, Initializer& init, const Kaiming& options) {
  return uniform_of_std(shape, kaiming_std(shape, options), init);
}

Tensor kaiming_normal(const Shape& shape, Initializer& init, const Kaiming& options) {
  return normal(shape, kaiming_std(shape, options), init);
}

Tensor fan_in_uniform(const Shape& shape, double fan_in, Initializer& init) {
  const double bound = 1 / std::sqrt(fan_in);
  return uniform(shape, -bound, bound, init);
}

}  // namespace init
}  // namespace plimsoll::nn
