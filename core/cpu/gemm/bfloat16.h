// How products of bfloat16 are made on this processor.
//
//   if (bfloat16_products() == BFloat16Products::tiles) ...
#pragma once

namespace plimsoll {

enum class BFloat16Products {
  widened,  // as multiply-adds of f32
  dot,      // by the vector instruction for pairs of terms (bfloat16_dot.h)
  tiles,    // by the tile unit (tile_unit.h)
};

// The fastest way that the processor has, or the one that PLIMSOLL_BF16 names: widened, dot or
// tiles. Without the instructions pairs are multiplied by multiply-adds and tiles number by number,
// but at the level x86-64-v4 dot needs AVX512-BF16: without it products are widened. ValueError for
// other names. Always the same in a process.
BFloat16Products bfloat16_products();

// "widened", "by dot products" or "by tiles".
const char* name_of(BFloat16Products products);

}  // namespace plimsoll
