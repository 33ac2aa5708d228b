// The instruction set that code is compiled for, by the names of the x86-64 psABI.
//
//   if (std::strcmp(cpu_level(), kCompiledLevel) != 0) ...  // the engine uses more than this file
//
// With PLIMSOLL_ARCH=levels they differ: the engine's library is the one for this processor, and
// programs are compiled for x86-64-v2.
#pragma once

#include <string>

namespace plimsoll {

// The level of the file that reads it. Levels this engine tells apart, by what its loops use.
constexpr const char* kCompiledLevel =
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
    "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__)
    "x86-64-v3";
#elif defined(__SSE4_2__)
    "x86-64-v2";
#elif defined(__x86_64__)
    "x86-64";
#else
    "other";
#endif

// The level of the library that runs: one of the above.
const char* cpu_level();

// The file of that library, or of the program that it is linked into.
std::string engine_file();

}  // namespace plimsoll
