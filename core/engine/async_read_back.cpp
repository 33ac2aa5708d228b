#include "core/engine/async_read_back.h"

#include <cstring>

namespace plimsoll {

AsyncReadBack::AsyncReadBack(const Tensor& scalar) {
  const bool fetched =
      scalar.dtype() == DType::f32 || scalar.dtype() == DType::f64 || scalar.dtype() == DType::i64;
  const void* const data =
      scalar.device() == Device::cuda && scalar.defined() ? view_of(scalar.value()).data : nullptr;
  if (fetched && data && scalar.count() == 1) {
    dtype_ = scalar.dtype();
    fetch_ = cuda_queue().fetch(data, size_of(dtype_));
  } else {
    value_ = scalar.item();
  }
}

double AsyncReadBack::value() const {
  if (known()) return value_;
  std::array<std::byte, sizeof(double)> bytes{};
  cuda_queue().take(fetch_, bytes.data());
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data(), sizeof value);
    return static_cast<double>(value);
  };
  if (dtype_ == DType::f32) return as(float());
  return dtype_ == DType::f64 ? as(double()) : as(int64_t());
}

}  // namespace plimsoll
