// What of Tensor looks at bytes or changes them. While a step is captured there are none to look
// at, so this knows the trace; the rest of Tensor (tensor.cpp) does not.
#include "core/base/convert.h"
#include "core/cpu/copy.h"
#include "core/cuda/seam/cuda.h"
#include "core/engine/trace.h"

namespace plimsoll {

Tensor Tensor::copied(const void* values, int64_t n, const Meta& meta) {
  check<ShapeError>(n == plimsoll::count(meta.shape), "tensor: the number of values is wrong: ", n,
                    " values for shape ", meta.shape, ". Give one value for each element.");
  Tensor tensor = empty(meta, "tensor");
  tensor.fill(values);
  return tensor;
}

void Tensor::require_bytes(const char* op) const {
  check<StateError>(defined(), op, ": the tensor is undefined. Pass one that was computed.");
  if (value_.storage->is_symbolic()) {
    const bool capturing = Trace::current() && Trace::current()->id() == value_.storage->trace();
    check<StateError>(!capturing, op,
                      ": the value is not known while a step is being captured: ", meta(),
                      ". Return it from the step instead.");
    fail<StateError>(op, ": the value belongs to a captured step that has ended: ", meta(),
                     ". Return it from the step instead.");
  }
  check<StateError>(!Trace::current() || !Trace::current()->outdated(*value_.storage), op,
                    ": the value is not known while a step is being captured: ", meta(),
                    " was written in place by the step. Return it from the step instead.");
  check<DeviceError>(device() != Device::null, op, ": the null device has no bytes: ", meta(),
                     ". Compute on the cpu device to look at values.");
  check<StateError>(value_.storage->data() || count() == 0, op,
                    ": other ranks have parts of this parameter: ", meta(),
                    ". Look at it when training is over.");
}

void* Tensor::address(DType wanted) const {
  require_bytes("data");
  check<DeviceError>(device() == Device::cpu,
                     "data: the bytes are not in the host's memory: ", meta(),
                     ". Read them with to_vector().");
  check<DTypeError>(dtype() == wanted, "data: asked for ", wanted, " but the tensor is ", meta(),
                    ". Ask for its own type.");
  return view_of(value_).data;
}

void Tensor::write_bytes(const void* values, int64_t n, DType type) const {
  check<StateError>(defined(), "write: the tensor is undefined. Give it a value first.");
  check<ShapeError>(n == count(), "write: the number of values is wrong: ", n, " values for shape ",
                    shape(), ". Give one value for each element.");
  check<DTypeError>(type == dtype(), "write: got ", type, " values for ", meta(),
                    ". Convert them first.");
  check<StateError>(!Trace::current(), "write: a step is being captured: ", meta(),
                    ". Write between the steps, or make the value an input.");
  check<StateError>(contiguous(), "write: the tensor is not contiguous: ", meta(),
                    ". Write into the whole tensor.");
  fill(values);
  value_.storage->bump_version();
}

void Tensor::fill(const void* values) const {
  if (device() == Device::null || count() == 0) return;
  require_bytes("write");
  copy_bytes(view_of(value_).data, device(), values, Device::cpu, bytes_of(meta()));
}

template <Readable T>
std::vector<T> Tensor::to_vector() const {
  require_bytes("to_vector");
  std::vector<T> result(static_cast<size_t>(count()));
  std::vector<std::byte> copied;
  const View view = on_host(view_of(value_), copied);
  visit_any(dtype(), [&]<class S>() {
    const S* const data = view.as<S>();
    int64_t next = 0;
    for_each_offset(shape(), value_.strides,
                    [&](int64_t offset) { result[next++] = convert<T>(data[offset]); });
  });
  return result;
}

template <Readable T>
T Tensor::item() const {
  require_bytes("item");
  check<ShapeError>(count() == 1, "item: the tensor has ", count(), " elements: ", meta(),
                    ". Reduce it to one first.");
  return to_vector<T>().front();
}

template std::vector<double> Tensor::to_vector() const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<uint8_t> Tensor::to_vector() const;
template double Tensor::item() const;
template float Tensor::item() const;
template int64_t Tensor::item() const;
template int32_t Tensor::item() const;
template uint8_t Tensor::item() const;

void set_memory_class(const Tensor& tensor, MemoryClass memory_class) {
  check<StateError>(tensor.defined(),
                    "set_memory_class: the tensor is undefined. Give it a value "
                    "first.");
  Storage& storage = *tensor.value().storage;
  if (!storage.is_symbolic())
    storage.reclassify(memory_class);
  else if (Trace::current() && Trace::current()->id() == storage.trace())
    Trace::current()->set_memory_class(storage.buffer(), memory_class);
}

}  // namespace plimsoll
