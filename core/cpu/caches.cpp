#include "core/cpu/caches.h"

#include <unistd.h>

#include <algorithm>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

constexpr int64_t kPiece = 65'536;  // bytes that a thread takes at once

}  // namespace

int64_t cache_bytes() {
  constexpr int64_t kUsual = int64_t{1} << 20;  // of a core that does not say
  int64_t bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE  // glibc's
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return (bytes > 0 ? bytes : kUsual) * num_threads();
}

int64_t shared_cache_bytes() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
#else
  return 0;
#endif
}

void bring_near(std::byte* data, int64_t bytes) {
  parallel_for(bytes, kPiece, [&](int64_t begin, int64_t end) {
    std::fill(data + begin, data + end, std::byte{0});
  });
}

void drop_from_caches([[maybe_unused]] const std::byte* data, [[maybe_unused]] int64_t bytes) {
#if defined(__x86_64__)
  parallel_for(bytes, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 64) _mm_clflush(data + i);
    _mm_clflush(data + end - 1);
    _mm_mfence();
  });
#endif
}

}  // namespace plimsoll
