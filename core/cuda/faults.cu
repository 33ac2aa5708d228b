#include "core/cuda/faults.cuh"

#include <algorithm>
#include <mutex>
#include <vector>

namespace plimsoll::cuda {
namespace {

struct Kind {
  ThrowFault throw_fault;
  int64_t limit;
  bool operator==(const Kind&) const = default;
};

constexpr size_t kKinds = 4096;  // kinds of faults in one process: few dozen in practice
std::mutex mutex;
std::vector<Kind> kinds;
uint64_t* words = nullptr;  // kKinds of them, on the device

void forget(size_t n) {
  check_cuda(cudaMemsetAsync(words, 0xff, n * sizeof(uint64_t), stream()), "cudaMemsetAsync");
}

}  // namespace

uint64_t* fault_word(ThrowFault throw_fault, int64_t limit) {
  const std::lock_guard lock(mutex);
  if (!words) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&words), kKinds * sizeof(uint64_t)),
               "cudaMalloc");
    forget(kKinds);
  }
  const Kind kind{throw_fault, limit};
  const auto known = std::find(kinds.begin(), kinds.end(), kind);
  const auto place = known - kinds.begin();
  if (known == kinds.end()) {
    check<StateError>(kinds.size() < kKinds, "cuda: more than ", kKinds,
                      " kinds of checks in one process. Use fewer sizes.");
    kinds.push_back(kind);
  }
  return words + place;
}

void throw_faults() {
  const std::lock_guard lock(mutex);
  if (kinds.empty()) return;
  std::vector<uint64_t> noted(kinds.size());
  check_cuda(cudaMemcpyAsync(noted.data(), words, noted.size() * sizeof(uint64_t),
                             cudaMemcpyDeviceToHost, stream()),
             "cudaMemcpyAsync");
  wait();
  for (size_t k = 0; k < noted.size(); ++k) {
    if (noted[k] == kNoFault) continue;
    forget(noted.size());
    kinds[k].throw_fault(static_cast<int64_t>(noted[k] >> 32),
                         static_cast<int32_t>(noted[k] & 0xffffffffu), kinds[k].limit);
  }
}

}  // namespace plimsoll::cuda
