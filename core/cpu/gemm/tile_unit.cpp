#include "core/cpu/gemm/tile_unit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace plimsoll {
namespace {

constexpr int64_t kTileRow = 64;  // bytes

// What ldtilecfg reads: palette 1, and all registers as large as they can be.
struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
  std::array<uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
};

// One tile of sums by the definition of the instruction.
void multiply_by_numbers(const TileRows& a, const uint32_t* b, int64_t depth, bool add,
                         float* sums) {
  const auto low = [](uint32_t pair) { return std::bit_cast<float>(pair << 16); };
  const auto high = [](uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000u); };
  for (int64_t i = 0; !add && i < kTileLines; ++i)
    std::fill_n(sums + i * kSumsAcross, kTileLines, 0.0F);
  for (int64_t step = 0; step < depth; ++step, b += kTileWords)
    for (int64_t i = 0; i < kTileLines; ++i) {
      std::array<uint32_t, kTileLines> row;
      std::memcpy(row.data(), a.data + i * a.pitch + a.steps[step], kTileRow);
      float* const to = sums + i * kSumsAcross;
      for (int64_t j = 0; j < kTileLines; ++j) {
        float even = 0, odd = 0;
        for (int64_t p = 0; p < kTileLines; ++p) {
          const uint32_t left = row[static_cast<size_t>(p)], right = b[p * kTileLines + j];
          even = std::fma(low(left), low(right), even);
          odd = std::fma(high(left), high(right), odd);
        }
        to[j] += even + odd;
      }
    }
}

}  // namespace

template <int R, int W>
void multiply_tiles_by_numbers(const TileRows& a, const uint32_t* b, int64_t depth, bool add,
                               float* sums) {
  for (int64_t i = 0; i < R; ++i)
    for (int64_t j = 0; j < W; ++j)
      multiply_by_numbers({a.data + i * a.second, a.pitch, 0, a.steps}, b + j * depth * kTileWords,
                          depth, add, sums + i * kTileLines * kSumsAcross + j * kTileLines);
}

#if defined(__x86_64__) && defined(__linux__)

bool has_tile_unit() {
  static const bool has = [] {
    // Clang 14 does not know the feature by name. Intel, "64 and IA-32 Architectures Software
    // Developer's Manual", CPUID: AMX-BF16 and AMX-TILE; XSAVE is on, and keeps tiles.
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1)) return false;
    asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    constexpr int kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
    return (a >> 17 & 3) == 3 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return has;
}

TileUnit::TileUnit() {
  static constexpr Configuration configuration;
  if (has_tile_unit()) asm volatile("ldtilecfg %0" ::"m"(configuration));
}
TileUnit::~TileUnit() {
  if (has_tile_unit()) asm volatile("tilerelease");
}

// Written as text, so that code for any level can hold it: who calls it has asked.
#define PLIMSOLL_LOAD(tile, from, pitch) \
  asm volatile("tileloadd (%0,%1), %%tmm" #tile ::"r"(from), "r"(pitch) : "memory")
#define PLIMSOLL_STORE(tile, to, pitch) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1)" ::"r"(to), "r"(pitch) : "memory")
#define PLIMSOLL_MULTIPLY(sums, left, right) \
  asm volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sums::)

template <int R, int W>
void multiply_tiles(const TileRows& a, const uint32_t* b, int64_t depth, bool add, float* sums) {
  if (!has_tile_unit()) return multiply_tiles_by_numbers<R, W>(a, b, depth, add, sums);
  constexpr int64_t pitch = kSumsAcross * 4;
  float* const lower = sums + kTileLines * kSumsAcross;
  if (add) {
    PLIMSOLL_LOAD(0, sums, pitch);
    if constexpr (W == 2) PLIMSOLL_LOAD(1, sums + kTileLines, pitch);
    if constexpr (R == 2) PLIMSOLL_LOAD(2, lower, pitch);
    if constexpr (R == 2 && W == 2) PLIMSOLL_LOAD(3, lower + kTileLines, pitch);
  } else {
    asm volatile("tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n tilezero %%tmm3" ::);
  }
  const uint32_t* const right = b + depth * kTileWords;
  for (int64_t i = 0; i < depth; ++i) {
    const std::byte* const rows = a.data + a.steps[i];
    PLIMSOLL_LOAD(4, rows, a.pitch);
    PLIMSOLL_LOAD(6, b + i * kTileWords, kTileRow);
    PLIMSOLL_MULTIPLY(0, 4, 6);
    if constexpr (W == 2) {
      PLIMSOLL_LOAD(7, right + i * kTileWords, kTileRow);
      PLIMSOLL_MULTIPLY(1, 4, 7);
    }
    if constexpr (R == 2) {
      PLIMSOLL_LOAD(5, rows + a.second, a.pitch);
      PLIMSOLL_MULTIPLY(2, 5, 6);
    }
    if constexpr (R == 2 && W == 2) PLIMSOLL_MULTIPLY(3, 5, 7);
  }
  PLIMSOLL_STORE(0, sums, pitch);
  if constexpr (W == 2) PLIMSOLL_STORE(1, sums + kTileLines, pitch);
  if constexpr (R == 2) PLIMSOLL_STORE(2, lower, pitch);
  if constexpr (R == 2 && W == 2) PLIMSOLL_STORE(3, lower + kTileLines, pitch);
}

#undef PLIMSOLL_LOAD
#undef PLIMSOLL_STORE
#undef PLIMSOLL_MULTIPLY

#else

bool has_tile_unit() { return false; }
TileUnit::TileUnit() = default;
TileUnit::~TileUnit() = default;

template <int R, int W>
void multiply_tiles(const TileRows& a, const uint32_t* b, int64_t depth, bool add, float* sums) {
  multiply_tiles_by_numbers<R, W>(a, b, depth, add, sums);
}

#endif

#define PLIMSOLL_TILES(R, W)                                                                     \
  template void multiply_tiles<R, W>(const TileRows&, const uint32_t*, int64_t, bool, float*);   \
  template void multiply_tiles_by_numbers<R, W>(const TileRows&, const uint32_t*, int64_t, bool, \
                                                float*);
PLIMSOLL_TILES(1, 1)
PLIMSOLL_TILES(1, 2)
PLIMSOLL_TILES(2, 1)
PLIMSOLL_TILES(2, 2)
#undef PLIMSOLL_TILES

}  // namespace plimsoll
