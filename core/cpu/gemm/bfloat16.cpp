#include "core/cpu/gemm/bfloat16.h"

#include <cstdlib>
#include <string_view>

#include "core/base/error.h"
#include "core/cpu/gemm/tile_unit.h"

namespace plimsoll {
namespace {

#if defined(__AVX512F__)
bool can_use_dot() { return __builtin_cpu_supports("avx512bf16"); }
// AMD's processors that have it add as many pairs in a cycle as products of f32, which is twice the
// work. On Intel's, whose gain is in tiles, it is half the work (docs/speed.md).
bool is_dot_faster() { return can_use_dot() && __builtin_cpu_is("amd"); }
#else
bool can_use_dot() { return true; }  // as multiply-adds
bool is_dot_faster() { return false; }
#endif

}  // namespace

BFloat16Products bfloat16_products() {
  using enum BFloat16Products;
  static const BFloat16Products products = [] {
    const char* const value = std::getenv("PLIMSOLL_BF16");
    const std::string_view setting = value ? value : "";
    if (setting.empty()) return has_tile_unit() ? tiles : is_dot_faster() ? dot : widened;
    if (setting == "tiles") return tiles;
    if (setting == "dot") return can_use_dot() ? dot : widened;
    check<ValueError>(setting == "widened",
                      "PLIMSOLL_BF16: neither widened, dot nor tiles: ", setting,
                      ". Unset it to let the processor decide.");
    return widened;
  }();
  return products;
}

const char* name_of(BFloat16Products products) {
  switch (products) {
    case BFloat16Products::widened:
      return "widened";
    case BFloat16Products::dot:
      return "by dot products";
    case BFloat16Products::tiles:
      return "by tiles";
  }
  return "";
}

}  // namespace plimsoll
