#include "core/cpu/gemm/bfloat16_dot.h"

#include <cstdlib>
#include <string_view>

#include "core/base/error.h"

namespace plimsoll {
namespace {

#if defined(__AVX512F__)
bool can_run() { return __builtin_cpu_supports("avx512bf16"); }
// AMD's processors that have it add as many pairs in a cycle as products of f32, which is twice the
// work. On Intel's, whose gain is in AMX, it is half the work (docs/speed.md).
bool is_faster() { return __builtin_cpu_is("amd"); }
#else
bool can_run() { return true; }  // as multiply-adds
bool is_faster() { return false; }
#endif

}  // namespace

bool uses_bfloat16_dot() {
  static const bool uses = [] {
    const char* const value = std::getenv("PLIMSOLL_BF16_DOT");
    const std::string_view setting = value ? value : "";
    check<ValueError>(setting.empty() || setting == "0" || setting == "1",
                      "PLIMSOLL_BF16_DOT: neither 0 nor 1: ", setting,
                      ". Unset it to let the processor decide.");
    return can_run() && (setting.empty() ? is_faster() : setting == "1");
  }();
  return uses;
}

}  // namespace plimsoll
