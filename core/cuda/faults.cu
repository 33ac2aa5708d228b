#include "core/cuda/faults.cuh"

#include <algorithm>
#include <array>
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
uint64_t* words = nullptr;                           // kMostFaults of them, on the device
int64_t forgotten = 0;                               // how many faults were thrown
std::array<int64_t, kMostFaults> forgotten_at = {};  // the number of the last one, of each word

void clear(size_t first, size_t n) {
  check_cuda(cudaMemsetAsync(words + first, 0xff, n * sizeof(uint64_t), stream()),
             "cudaMemsetAsync");
}

// Throws the first fault that `noted`, a copy of the words, holds and that was not thrown since the
// copy was made; `before` is how many had been thrown by then. While the device works, the words
// may hold what kernels noted after the copy, so only the fault that is thrown is cleared; on an
// idle device all are.
void throw_first(std::span<const uint64_t> noted, int64_t before, bool idle) {
  for (size_t k = 0; k < noted.size(); ++k) {
    if (noted[k] == kNoFault || forgotten_at[k] > before) continue;
    ++forgotten;
    const size_t first = idle ? 0 : k, n = idle ? kinds.size() : 1;
    std::fill_n(forgotten_at.begin() + static_cast<int64_t>(first), n, forgotten);
    clear(first, n);
    kinds[k].throw_fault(static_cast<int64_t>(noted[k] >> 32),
                         static_cast<int32_t>(noted[k] & 0xffffffffu), kinds[k].limit);
  }
}

}  // namespace

uint64_t* fault_word(ThrowFault throw_fault, int64_t limit) {
  const std::lock_guard lock(mutex);
  if (!words) {
    stream();  // selects the device for this thread
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&words), kMostFaults * sizeof(uint64_t)),
               "cudaMalloc");
    clear(0, kMostFaults);
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
  throw_first({pinned, copied.words}, copied.forgotten, /*idle=*/false);
}

void throw_faults() {
  const std::lock_guard lock(mutex);
  if (kinds.empty()) return;
  std::vector<uint64_t> noted(kinds.size());
  check_cuda(cudaMemcpyAsync(noted.data(), words, noted.size() * sizeof(uint64_t),
                             cudaMemcpyDeviceToHost, stream()),
             "cudaMemcpyAsync");
  wait();
  throw_first(noted, forgotten, /*idle=*/true);
}

}  // namespace plimsoll::cuda
