#include "tests/support/op_case.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/philox.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

OpCase shifted(OpCase c, const Shape& shape) {
  c.inputs.push_back(index(shape, 3));
  c.call = [call = c.call](std::span<const Tensor> in) {
    std::vector<Tensor> own(in.begin(), in.end() - 1);
    own[0] = own[0] + cast(in.back(), own[0].dtype());
    return call(own);
  };
  c.reference = [reference = c.reference](const std::vector<Array>& in) {
    std::vector<Array> own(in.begin(), in.end() - 1);
    own[0] = in.back();
    for (int64_t e = 0; e < count(own[0].shape); ++e) own[0][e] += in[0][e % count(in[0].shape)];
    return reference(own);
  };
  return c;
}

OpCase only_in(std::vector<DType> dtypes, OpCase c) {
  c.dtypes = std::move(dtypes);
  return c;
}

std::vector<Tensor> make_inputs(const OpCase& op_case, DType dtype) {
  std::vector<Tensor> inputs;
  for (const InputSpec& spec : op_case.inputs) {
    std::vector<double> values = spec.values;
    const uint64_t stream = 1000 + inputs.size();
    for (int64_t i = 0; spec.values.empty() && i < count(spec.shape); ++i) {
      const auto words = random_words(42, stream, static_cast<uint64_t>(i));
      const double unit = (words[0] + words[1] * 0x1p-32) * 0x1p-32;
      const double value = spec.low + unit * (spec.high - spec.low);
      values.push_back(spec.integer ? std::floor(value) : value);
    }
    const Tensor exact = Tensor::of<double>(std::span<const double>(values), spec.shape);
    inputs.push_back(cast(exact, spec.integer ? DType::i64 : dtype));
  }
  return inputs;
}

Array to_array(const Tensor& tensor) {
  Array array(tensor.shape());
  array.values = tensor.to_vector<double>();
  return array;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.meta() == b.meta())) return false;
  const Tensor x = contiguous(a), y = contiguous(b);
  const size_t bytes = static_cast<size_t>(bytes_of(a.meta()));
  return bytes == 0 || std::memcmp(view_of(x.value()).data, view_of(y.value()).data, bytes) == 0;
}

double relative_error(const Array& a, const Array& b) {
  double difference = 0, scale = 0;
  for (size_t i = 0; i < b.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) {
    } else if (std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y)) {
      return std::numeric_limits<double>::infinity();
    } else {
      difference = std::max(difference, std::abs(x - y));
    }
    if (std::isfinite(y)) scale = std::max(scale, std::abs(y));
  }
  return difference == 0 ? 0 : difference / std::max(scale, 1e-30);
}

}  // namespace plimsoll
