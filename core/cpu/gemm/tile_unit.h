// The processor's tile unit (AMX): registers of 16 rows of 64 bytes, and an instruction that
// multiplies two of them as matrices of bfloat16 and adds the product to a third, in f32: 8,192
// multiply-adds in 16 cycles, for which vectors of f32 need 256.
//
//   TileUnit unit;                                  // this thread's, until the end of the scope
//   multiply_tiles<2, 2>(a, b, depth, false, sums); // 32 x 32 sums
//
// A tile of A is 16 rows of 32 terms as they lie in a row-major matrix. A tile of B is 16 columns
// of 32 terms, two neighbouring terms of each column side by side: 16 rows of 16 words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plimsoll {

constexpr int64_t kTileLines = 16;  // rows of A and of C, columns of B and of C
constexpr int64_t kTileTerms = 32;
constexpr int64_t kTileWords = 256;                   // of 32 bits: a tile of B, or of sums
constexpr int64_t kSumsAcross = 2 * kTileLines;       // a row of a block of sums
constexpr int64_t kSums = kSumsAcross * kSumsAcross;  // of two by two tiles

// Whether the processor has the unit and the system lets this process use it.
bool has_tile_unit();

// Where the tiles of a row of them begin, in bytes: one after another.
constexpr std::array<int64_t, 32> kSideBySide = [] {
  std::array<int64_t, 32> steps{};
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int64_t>(i) * 64;
  return steps;
}();

// 16 rows of bfloat16 that are `pitch` bytes apart, and 16 more that begin `second` bytes from the
// first. Tile number i of them is steps[i] bytes from the first column.
struct TileRows {
  const std::byte* data;
  int64_t pitch;
  int64_t second = kTileLines * pitch;
  const int64_t* steps = kSideBySide.data();
};

// Sets this thread's registers up, which no other TileUnit of it may be doing. While none is in use
// the system has nothing to save when it changes threads: they are given back at the end.
class TileUnit {
 public:
  TileUnit();
  ~TileUnit();
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;
};

// sums [32 x 32] = a b, or += with `add`, of R x W tiles of sums. `a` has 16 R rows; `b` has W
// strips, each of `depth` tiles, one after another by terms. For a sum the 16 products of the even
// terms of a tile are added up from 0 in their order, those of the odd terms apart from them, each
// with one rounding; the one is added to the other, and that to what there was. Subnormal numbers
// are read as 0 and none is left. Intel, "64 and IA-32 Architectures Software Developer's Manual",
// TDPBF16PS. Without the unit it is multiply_tiles_by_numbers().
template <int R, int W>
void multiply_tiles(const TileRows& a, const uint32_t* b, int64_t depth, bool add, float* sums);

// The same by the definition, without the unit. It keeps subnormal numbers.
template <int R, int W>
void multiply_tiles_by_numbers(const TileRows& a, const uint32_t* b, int64_t depth, bool add,
                               float* sums);

}  // namespace plimsoll
