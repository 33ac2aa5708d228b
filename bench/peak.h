// What this machine can do at the moment, on all threads: fused multiply-adds in registers alone,
// with the vectors of the level that the engine runs at, and a plain copy.
//
//   const double rate = flops / seconds_of(f), share = rate / peak_flops();
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/cpu/level.h"
#include "core/cpu/parallel.h"

namespace plimsoll {

template <class F>
double seconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr int64_t kPeakVectors = 12;  // independent sums, enough to hide a multiply-add's latency

// kPeakVectors multiply-adds of `bytes`-wide vectors per round; `target` makes this function's
// instructions those of the level, whatever the program is compiled for. The empty instruction
// keeps each multiply-add where it stands, and its sum in a register.
#if defined(__aarch64__)
#define PLIMSOLL_VECTOR_REGISTER "+w"
#else
#define PLIMSOLL_VECTOR_REGISTER "+v"
#endif
#define PLIMSOLL_MULTIPLY_ADDS(name, bytes, target)                              \
  target inline void name(int64_t rounds) {                                      \
    typedef float V __attribute__((vector_size(bytes)));                         \
    V sums[kPeakVectors], a = V{} + 0.5f, b = a;                                 \
    _Pragma("GCC unroll 12") for (int v = 0; v < kPeakVectors; ++v) sums[v] = a; \
    for (int64_t i = 0; i < rounds; ++i) {                                       \
      _Pragma("GCC unroll 12") for (int v = 0; v < kPeakVectors; ++v) {          \
        sums[v] = sums[v] * a + b;                                               \
        asm volatile("" : PLIMSOLL_VECTOR_REGISTER(sums[v]));                    \
      }                                                                          \
    }                                                                            \
  }
#if defined(__x86_64__)
PLIMSOLL_MULTIPLY_ADDS(multiply_adds_64, 64, [[gnu::target("avx512f")]])
PLIMSOLL_MULTIPLY_ADDS(multiply_adds_32, 32, [[gnu::target("avx2,fma")]])
#endif
PLIMSOLL_MULTIPLY_ADDS(multiply_adds_16, 16, )
#undef PLIMSOLL_MULTIPLY_ADDS
#undef PLIMSOLL_VECTOR_REGISTER

// In floating-point operations per second; takes about a millisecond.
inline double peak_flops() {
  // Pieces for threads that begin late: others take more of them.
  constexpr int64_t kRounds = 20'000, kPieces = 16;
  auto* multiply_adds = multiply_adds_16;
  int64_t lanes = 4;
#if defined(__x86_64__)
  const std::string_view level = cpu_level();
  if (level == "x86-64-v4") multiply_adds = multiply_adds_64, lanes = 16;
  if (level == "x86-64-v3") multiply_adds = multiply_adds_32, lanes = 8;
#endif
  const int64_t threads = num_threads();
  const double seconds = seconds_of([&] {
    parallel_for(kPieces * threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) multiply_adds(kRounds);
    });
  });
  return static_cast<double>(2 * kRounds * kPieces * kPeakVectors * lanes * threads) / seconds;
}

// Bytes read and written per second by a copy of 64 MiB.
inline double copy_rate() {
  static std::vector<float> from(1 << 24, 1.0f), to(1 << 24);
  const double seconds = seconds_of([&] {
    parallel_for(std::ssize(from), 1 << 18, [&](int64_t begin, int64_t end) {
      std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
    });
  });
  return 2.0 * static_cast<double>(from.size() * sizeof(float)) / seconds;
}

}  // namespace plimsoll
