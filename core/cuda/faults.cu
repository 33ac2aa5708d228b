#include "core/cuda/faults.cuh"

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

namespace plimsoll::cuda {
namespace {

struct Kind {
  ThrowFault throw_fault;
  int64_t limit;
  bool operator==(const Kind&) const = default;
};

std::mutex mutex;
std::vector<Kind> kinds;
uint64_t* words = nullptr;  // kMostFaults of them, on the device
int64_t forgotten = 0;

void forget(size_t n) {
  ++forgotten;
  check_cuda(cudaMemsetAsync(words, 0xff, n * sizeof(uint64_t), stream()), "cudaMemsetAsync");
}

void throw_first(std::span<const uint64_t> noted) {
  for (size_t k = 0; k < noted.size(); ++k) {
    if (noted[k] == kNoFault) continue;
    forget(kinds.size());
    kinds[k].throw_fault(static_cast<int64_t>(noted[k] >> 32),
                         static_cast<int32_t>(noted[k] & 0xffffffffu), kinds[k].limit);
  }
}

}  // namespace

uint64_t* fault_word(ThrowFault throw_fault, int64_t limit) {
  const std::lock_guard lock(mutex);
  if (!words) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&words), kMostFaults * sizeof(uint64_t)),
               "cudaMalloc");
    forget(kMostFaults);
  }
  const Kind kind{throw_fault, limit};
  const auto known = std::find(kinds.begin(), kinds.end(), kind);
  const auto place = known - kinds.begin();
  if (known == kinds.end()) {
    check<StateError>(kinds.size() < kMostFaults, "cuda: more than ", kMostFaults,
                      " kinds of checks in one process. Use fewer sizes.");
    kinds.push_back(kind);
  }
  return words + place;
}

CopiedFaults copy_faults(uint64_t* pinned) {
  const std::lock_guard lock(mutex);
  if (!kinds.empty())
    check_cuda(cudaMemcpyAsync(pinned, words, kinds.size() * sizeof(uint64_t),
                               cudaMemcpyDeviceToHost, stream()),
               "cudaMemcpyAsync");
  return {kinds.size(), forgotten};
}

void throw_copied(const uint64_t* pinned, const CopiedFaults& copied) {
  const std::lock_guard lock(mutex);
  if (copied.forgotten == forgotten) throw_first({pinned, copied.words});
}

void throw_faults() {
  const std::lock_guard lock(mutex);
  if (kinds.empty()) return;
  std::vector<uint64_t> noted(kinds.size());
  check_cuda(cudaMemcpyAsync(noted.data(), words, noted.size() * sizeof(uint64_t),
                             cudaMemcpyDeviceToHost, stream()),
             "cudaMemcpyAsync");
  wait();
  throw_first(noted);
}

}  // namespace plimsoll::cuda
