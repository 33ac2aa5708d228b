// That the library which runs is the one for this processor, or the one that a test run asks for.
#include "core/cpu/level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace plimsoll {
namespace {

std::string expected_level() {
  if (const char* asked = std::getenv("PLIMSOLL_LEVEL")) return asked;
  if (std::string(PLIMSOLL_ARCH) != "levels") return kCompiledLevel;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "x86-64-v3";
#endif
  return "x86-64-v2";
}

TEST(CpuLevel, IsTheBestOrTheOneAskedFor) { EXPECT_EQ(cpu_level(), expected_level()); }

}  // namespace
}  // namespace plimsoll
