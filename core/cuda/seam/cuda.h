// The CUDA half as the rest of the engine sees it: a table of functions and, for each op, a kernel
// (core/cuda/seam/cuda_kernel.h). Both are weak symbols, which the linker finds in builds with CUDA
// (core/cuda) and which are null in others: no other file knows how it was configured, or includes
// a header of the toolkit.
//
//   cuda_api().copy(to, from, bytes, CudaCopy::in);   // DeviceError, in one sentence, without one
#pragma once

#include "core/tensor/view.h"

namespace plimsoll {

enum class CudaCopy { in, out, within };  // from the host, to the host, on the device

// All work of one process is queued in order on one stream of one device. Kernels and copies return
// before they are done, but for `out`; `in` has read what it copies.
struct CudaApi {
  // Device number `index` instead of 0. Does not open it: a number that does not exist is found
  // when it is. StateError when another one is open.
  void (*select)(int index);
  // nullptr when there is no more. On a boundary of 256 bytes.
  void* (*allocate)(int64_t bytes);
  void (*release)(void* data);
  int64_t (*available)();  // bytes of device memory that could be had now
  void (*copy)(void* to, const void* from, int64_t bytes, CudaCopy kind);
  void (*copy_strided)(const View& from, const View& to);  // on the device; same shape and dtype
  bool (*all_finite)(const View& view);                    // of a contiguous view; waits
  // Waits for all that was queued; throws the first error a kernel met since the last call, such as
  // IndexError for a label out of range. `out` and all_finite do so too.
  void (*synchronize)();
};

// DeviceError in a build without CUDA. The device is opened by the first function that needs it:
// DeviceError, saying which, when there is no driver or one too old, no GPU, or one of an
// architecture that this build was not compiled for.
const CudaApi& cuda_api();

// Why the device cannot be used, in one of those sentences; empty when it can.
std::string why_no_cuda();

// The table itself, which core/cuda defines.
[[gnu::weak]] const CudaApi& cuda_backend();

// Whether kernels of the device are queued, and return before they are done: then a launch costs
// something, and a step can be recorded as one.
bool is_asynchronous(Device device);

// Waits as CudaApi::synchronize does, where the device is asynchronous.
void synchronize(Device device);

// to = from, on the device of both: same shape and dtype, any strides. Nothing without memory.
void copy_view(const View& from, const View& to);

// Copies bytes between or on devices with memory.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, int64_t bytes);

// A view of memory of the device as one of memory of the host: the bytes it looks into are copied
// to `bytes`. A view of host memory stays as it is.
View on_host(const View& view, std::vector<std::byte>& bytes);

}  // namespace plimsoll
