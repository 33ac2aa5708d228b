// FNV-1a, 64 bits (Fowler, Noll, Vo): quick, and good enough where nobody means harm.
//
//   fnv1a("word") % vocabulary
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

constexpr uint64_t kFnvStart = 0xcbf29ce484222325u;

// `hash` of what came before makes it the hash of both.
constexpr uint64_t fnv1a(std::string_view bytes, uint64_t hash = kFnvStart) {
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

inline uint64_t fnv1a(std::span<const std::byte> bytes, uint64_t hash = kFnvStart) {
  return fnv1a({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, hash);
}

}  // namespace plimsoll
