// Bytes by class, and bytes as people read them.
//
//   bytes_text(1'572'864);             // "1.5 MiB"
//   bytes_text(by_class);              // "parameters 1.5 MiB, activations 20.0 MiB"
//   parse_bytes("300MiB");             // 314'572'800
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/tensor/meta.h"

namespace plimsoll {

// Indexed by MemoryClass.
using BytesByClass = std::array<int64_t, kMemoryClasses>;

inline int64_t& at(BytesByClass& bytes, MemoryClass memory_class) {
  return bytes[static_cast<size_t>(memory_class)];
}

std::string bytes_text(int64_t bytes);
std::string bytes_text(const BytesByClass& bytes);  // classes that hold something; else "nothing"

// A number, with or without a point, and a unit: none or B, KiB MiB GiB TiB (1024), kB MB GB TB
// (1000). Rounded down to whole bytes. ValueError for anything else, for 0 bytes, and from 2^63 on.
int64_t parse_bytes(std::string_view text);

}  // namespace plimsoll
