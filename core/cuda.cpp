#include "core/cuda.h"

#include <cstring>

#include "core/cpu/copy.h"
#include "core/cuda_queue.h"

namespace plimsoll {

const CudaApi& cuda_api() {
  check<DeviceError>(cuda_backend != nullptr,
                     "cuda: this build has no CUDA kernels. Configure with -DPLIMSOLL_CUDA=ON.");
  return cuda_backend();
}

const CudaQueue& cuda_queue() {
  cuda_api();  // throws where there is none
  return cuda_queue_backend();
}

std::string why_no_cuda() {
  try {
    cuda_api().available();  // opens the device, and throws nothing that a kernel met
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

bool is_asynchronous(Device device) { return device == Device::cuda; }

void synchronize(Device device) {
  if (is_asynchronous(device)) cuda_api().synchronize();
}

void copy_view(const View& from, const View& to) {
  if (from.meta.device == Device::cuda)
    cuda_api().copy_strided(from, to);
  else if (from.meta.device == Device::cpu)
    copy_strided(from, to);
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, int64_t bytes) {
  if (bytes == 0) return;
  const bool in = to_device == Device::cuda, out = from_device == Device::cuda;
  if (in || out) {
    cuda_api().copy(to, from, bytes,
                    in && out ? CudaCopy::within : (in ? CudaCopy::in : CudaCopy::out));
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

View on_host(const View& view, std::vector<std::byte>& bytes) {
  if (view.meta.device != Device::cuda || count(view.shape()) == 0) return view;
  int64_t first = 0, last = 0;  // elements, from the view's own first one
  for (int axis = 0; axis < view.shape().rank(); ++axis) {
    const int64_t reach = (view.shape()[axis] - 1) * view.strides[axis];
    (reach < 0 ? first : last) += reach;
  }
  const int64_t size = size_of(view.dtype());
  bytes.resize(static_cast<size_t>((last - first + 1) * size));
  cuda_api().copy(bytes.data(), view.as<std::byte>() + first * size,
                  static_cast<int64_t>(bytes.size()), CudaCopy::out);
  View host = view;
  host.data = bytes.data() - first * size;
  host.meta.device = Device::cpu;
  return host;
}

}  // namespace plimsoll
