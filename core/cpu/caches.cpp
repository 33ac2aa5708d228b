#include "core/cpu/caches.h"

#include <unistd.h>

#include <algorithm>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

constexpr int64_t kUsual = int64_t{1} << 20;  // of a core that does not say
constexpr int64_t kPiece = 65'536;            // bytes that a thread takes at once
constexpr int64_t kLine = 64;

}  // namespace

int64_t cache_bytes() {
  int64_t bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
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

#if defined(__x86_64__)
namespace {

// Does not wait for the line before, as clflush does.
__attribute__((target("clflushopt"))) void flush_opt(const std::byte* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) _mm_clflushopt(const_cast<std::byte*>(data + i));
  _mm_clflushopt(const_cast<std::byte*>(data + bytes - 1));
}

void flush(const std::byte* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) _mm_clflush(data + i);
  _mm_clflush(data + bytes - 1);
}

__attribute__((target("cldemote"))) void demote_lines(const std::byte* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) _cldemote(const_cast<std::byte*>(data + i));
  _cldemote(const_cast<std::byte*>(data + bytes - 1));
}

struct Features {
  unsigned a = 0, b = 0, c = 0, d = 0;  // registers of CPUID, leaf 7
  Features() { __get_cpuid_count(7, 0, &a, &b, &c, &d); }
  bool clflushopt() const { return b >> 23 & 1; }
  bool cldemote() const { return c >> 25 & 1; }
};

}  // namespace

bool can_demote_to_shared_cache() {
  static const bool can = Features().cldemote();
  return can;
}

void demote_to_shared_cache(const std::byte* data, int64_t bytes) {
  if (!can_demote_to_shared_cache()) return;
  parallel_for(bytes, kPiece, [&](int64_t begin, int64_t end) {
    demote_lines(data + begin, end - begin);
    _mm_mfence();
  });
}

void drop_from_caches(const std::byte* data, int64_t bytes) {
  static const auto flush_lines = Features().clflushopt() ? flush_opt : flush;
  parallel_for(bytes, kPiece, [&](int64_t begin, int64_t end) {
    flush_lines(data + begin, end - begin);
    _mm_mfence();
  });
}
#else
void drop_from_caches(const std::byte*, int64_t) {}
bool can_demote_to_shared_cache() { return false; }
void demote_to_shared_cache(const std::byte*, int64_t) {}
#endif

}  // namespace plimsoll
