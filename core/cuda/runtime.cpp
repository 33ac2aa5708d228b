#include "core/cuda/runtime.h"

#include <atomic>
#include <memory>
#include <mutex>

#include "core/cuda/copy.h"
#include "core/cuda/faults.h"
#include "core/cuda/fetch.h"
#include "core/cuda/finite.h"

namespace plimsoll::cuda {
namespace {

// What is opened once and stays open: a process that ends takes it along.
struct Opened {
  cudaDeviceProp properties{};
  cudaStream_t stream = nullptr;
};

std::mutex opening;
std::unique_ptr<Opened> opened;  // guarded by `opening` until it is set, then constant
int chosen = 0;
thread_local cudaStream_t diverted = nullptr;
std::atomic<int64_t> waited;

int number_of_devices() {
  int devices = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaErrorInsufficientDriver) {
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    check<DeviceError>(driver != 0,
                       "cuda: there is no NVIDIA driver on this machine. "
                       "Install one, or compute on the cpu.");
    fail<DeviceError>("cuda: the driver is too old: it knows CUDA ", driver / 1000, ".",
                      driver % 1000 / 10, ", this build needs ", runtime / 1000, ".",
                      runtime % 1000 / 10, ". Update the driver, or compute on the cpu.");
  }
  if (status == cudaErrorNoDevice)
    devices = 0;
  else
    check_cuda(status, "cudaGetDeviceCount");
  check<DeviceError>(devices > 0,
                     "cuda: the driver finds no GPU. Look at CUDA_VISIBLE_DEVICES, or compute on "
                     "the cpu.");
  return devices;
}

void check_index(int index) {
  const int devices = number_of_devices();
  check<DeviceError>(index >= 0 && index<devices, "cuda: there is no device ", index, ": found ",
                                         devices, ". Use 0", devices> 1
                         ? cat(" to ", devices - 1)
                         : "",
                     ".");
}

std::unique_ptr<Opened> open() {
  check_index(chosen);
  auto device = std::make_unique<Opened>();
  check_cuda(cudaSetDevice(chosen), "cudaSetDevice");
  check_cuda(cudaGetDeviceProperties(&device->properties, chosen), "cudaGetDeviceProperties");
  check<DeviceError>(has_code_for_device(), "cuda: this build has no code for ",
                     device->properties.name, " (compute capability ", device->properties.major,
                     ".", device->properties.minor,
                     "). Configure with -DCMAKE_CUDA_ARCHITECTURES=", device->properties.major,
                     device->properties.minor, ".");
  check_cuda(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
  return device;
}

// Which device is current is a matter of each thread.
const Opened& device() {
  const std::lock_guard lock(opening);
  if (!opened) opened = open();
  thread_local bool current = false;
  if (!current) check_cuda(cudaSetDevice(chosen), "cudaSetDevice");
  current = true;
  return *opened;
}

void select(int index) {
  const std::lock_guard lock(opening);
  check<StateError>(!opened || index == chosen, "cuda: device ", chosen,
                    " is in use already. Choose another one before the first tensor is made.");
  chosen = index;
}

void* allocate(int64_t bytes) {
  stream();
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // takes the error back: the next call is a new one
    return nullptr;
  }
  check_cuda(status, "cudaMalloc");
  return data;
}

// At the end of a process the driver may have gone before the last tensor.
void release(void* data) {
  ++waited;  // as cudaFree does
  cudaFree(data);
}

int64_t available() {
  stream();
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<int64_t>(free);
}

void synchronize() {
  wait();
  throw_faults();
}

void copy(void* to, const void* from, int64_t bytes, CudaCopy kind) {
  check<DeviceError>(
      kind == CudaCopy::within || !diverted,
      "cuda: a step that is recorded copies from or to the host. Do so between steps.");
  if (kind == CudaCopy::in) return copy_in(to, from, bytes);
  check_cuda(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                      kind == CudaCopy::out ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice,
                      stream()),
      "cudaMemcpyAsync");
  if (kind == CudaCopy::out) synchronize();
}

}  // namespace

void check_cuda(cudaError_t status, const char* call) {
  check<DeviceError>(status == cudaSuccess, "cuda: ", call, " failed: ", cudaGetErrorString(status),
                     ". Run under compute-sanitizer if a kernel is at fault.");
}

cudaStream_t stream() { return diverted ? diverted : device().stream; }

void divert(cudaStream_t other) { diverted = other; }

void wait() {
  ++waited;
  check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

int64_t waits() { return waited; }

dim3 grid_of(int64_t blocks) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  check<DeviceError>(blocks >= 1, "cuda: a kernel was started with ", blocks,
                     " blocks. Start none where there is nothing to do.");
  check<ShapeError>(blocks <= most, "cuda: a kernel needs ", blocks, " blocks, a grid holds ", most,
                    ". Use a smaller batch.");
  return dim3(static_cast<unsigned>(blocks));
}

}  // namespace plimsoll::cuda

namespace plimsoll {

const CudaApi& cuda_backend() {
  static constexpr CudaApi api{.select = cuda::select,
                               .allocate = cuda::allocate,
                               .release = cuda::release,
                               .available = cuda::available,
                               .copy = cuda::copy,
                               .copy_strided = cuda::copy_strided,
                               .all_finite = cuda::all_finite,
                               .synchronize = cuda::synchronize};
  return api;
}

}  // namespace plimsoll
