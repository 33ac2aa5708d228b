#include "nn/decoder/parts.h"

#include "autograd/no_grad.h"
#include "core/engine/transfer.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

Tensor checked(Tensor given, const std::string& name, const Shape& shape) {
  check<ValueError>(given.shape() == shape, "decoder: the weight ", name, " is ", given.shape(),
                    " and not ", shape, ". Use the weights that belong to the config.");
  return given;
}

}  // namespace

WeightSource null_weights(DType dtype) {
  return [dtype](const std::string&, const Shape& shape) {
    return Tensor::empty({shape, dtype, Device::null}, "weights");
  };
}

WeightSource drawn_weights(Initializer& init) {
  return [&init](const std::string& name, const Shape& shape) {
    constexpr double kStd = 0.02;
    if (shape.rank() >= 2) return init::normal(shape, kStd, init);
    return name.ends_with(".bias") ? init::zeros(shape, init) : init::ones(shape, init);
  };
}

Parts Parts::in(const std::string& child) const {
  Parts inner = *this;
  inner.path = path.empty() ? child : cat(path, ".", child);
  return inner;
}

Tensor Parts::take(const std::string& name, const Shape& shape, bool wide) const {
  const MemoryScope scope(MemoryClass::parameter);
  const std::string full = in(name).path;
  Tensor given = checked(source(full, shape), full, shape);
  DType used = init.placement.dtype;
  const auto narrow = [](DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; };
  if (wide && narrow(used)) used = DType::f32;
  const bool keeps = !trained && !converted && !(wide && narrow(given.dtype()));
  if (!keeps && given.dtype() != used)
    given = cast(given, used);
  else if (trained)
    given = clone(given);
  return to_device(given, init.placement.device);
}

Quantised Parts::take_quantised(const std::string& name, const Shape& shape,
                                bool transposed) const {
  const MemoryScope scope(MemoryClass::parameter);
  const NoGrad frozen;
  const std::string full = in(name).path;
  const Tensor there = to_device(checked(source(full, shape), full, shape), init.placement.device);
  try {
    return quantise(transposed ? transpose(there) : there, *quantised);
  } catch (const NumericError& e) {
    fail<NumericError>("decoder: ", full, ": ", e.what());
  }
}

}  // namespace plimsoll::nn
