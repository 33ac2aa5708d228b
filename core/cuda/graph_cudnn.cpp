#include "core/cuda/graph_cudnn.h"

#include <algorithm>
#include <array>

#include "core/cuda/runtime.h"

namespace plimsoll::cuda {
namespace {

std::mutex handle_in_use;

}  // namespace

Handle::Handle() : lock_(handle_in_use) {
  stream();  // makes the device this thread's
  static const cudnnHandle_t opened = [] {
    cudnnHandle_t made = nullptr;
    cudnn().run(cudnn().cudnnCreate(&made), "cudnnCreate");
    return made;
  }();
  handle_ = opened;
}

Cudnn::Cudnn() {
  check<DeviceError>(cudnnGetVersion() / 10000 == 9, "cuda: cuDNN 9 is needed: found ",
                     cudnnGetVersion(), ". Install it (pip install nvidia-cudnn-cu13).");
}

void Cudnn::run(cudnnStatus_t status, const char* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char why[512] = "";
  cudnnGetLastErrorString(why, sizeof why);
  fail<DeviceError>("cuda: ", call, " failed: ", cudnnGetErrorString(status), " ", why,
                    ". PLIMSOLL_CUDA_LIBRARIES=none does without cuDNN.");
}

const Cudnn& cudnn() {
  static const Cudnn opened;
  return opened;
}

bool cudnn_usable() {
  static const bool usable = [] {
    if (libraries_forbidden()) return false;
    try {
      cudnn();
      return true;
    } catch (const DeviceError& error) {
      report_missing(error.what());
      return false;
    }
  }();
  return usable;
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnn().run(cudnn().cudnnBackendCreateDescriptor(type, &handle_), "cudnnBackendCreateDescriptor");
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                     const void* values) {
  cudnn().run(cudnn().cudnnBackendSetAttribute(handle_, name, type, n, values),
              "cudnnBackendSetAttribute");
}
void Descriptor::set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
  set(name, CUDNN_TYPE_INT64, std::ssize(values), values.data());
}
void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.handle_);
}
void Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}
void Descriptor::finalize(const char* what) {
  cudnn().run(cudnn().cudnnBackendFinalize(handle_), what);
}
cudnnStatus_t Descriptor::finalize() { return cudnn().cudnnBackendFinalize(handle_); }
int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        int64_t n, void* values) const {
  int64_t count = 0;
  cudnn().run(cudnn().cudnnBackendGetAttribute(handle_, name, type, n, &count, values),
              "cudnnBackendGetAttribute");
  return count;
}

cudnnDataType_t type_of(DType dtype) {
  return dtype == DType::f16 ? CUDNN_DATA_HALF
                             : (dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT);
}

const Descriptor& Graph::tensor(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                cudnnDataType_t type, Place place) {
  const int64_t number = next_++;
  if (place != kVirtual) numbers_.push_back(number);
  return part(CUDNN_BACKEND_TENSOR_DESCRIPTOR, [&](Descriptor& t) {
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
    t.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16});
    if (place == kVirtual) t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    if (place == kValue) t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  });
}

void Graph::pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b,
                      const Descriptor& y, cudnnDataType_t type, const Descriptor* choice,
                      int64_t axis) {
  const Descriptor& how = part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, [&](Descriptor& d) {
    d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, type);
    if (axis >= 0) d.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  });
  operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, [&](Descriptor& op) {
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (choice) op.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *choice);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  });
}

const Descriptor& Graph::number() {
  constexpr std::array<int64_t, 4> ones{1, 1, 1, 1};
  return tensor(ones, ones, CUDNN_DATA_FLOAT, kValue);
}

bool can_execute(const Plan* plan, std::span<void* const> tensors, std::span<std::byte> workspace) {
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  return plan && plan->workspace <= std::ssize(workspace) && std::ranges::all_of(tensors, aligned);
}

void execute(const Plan& plan, std::span<void* const> tensors, std::span<std::byte> workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto boundary = static_cast<uintptr_t>(kWorkspaceBoundary);
  const auto start = reinterpret_cast<uintptr_t>(workspace.data());
  void* const scratch = reinterpret_cast<void*>((start + boundary - 1) / boundary * boundary);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, plan.numbers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(tensors),
           tensors.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
  pack.finalize("the tensors of a cuDNN plan");
  const Handle handle;  // was opened when the plan was made: a step that is recorded cannot
  cudnn().run(cudnn().cudnnSetStream(handle.raw(), stream()), "cudnnSetStream");
  cudnn().run(cudnn().cudnnBackendExecute(handle.raw(), plan.descriptor->raw(), pack.raw()),
              "cudnnBackendExecute");
}

}  // namespace plimsoll::cuda
