// CRC-32C (Castagnoli; RFC 3720), the checksum of records in event files.
//
//   crc32c("123456789")                // 0xe3069283
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll::formats {

namespace detail {
// The remainder of each byte, lowest bit first.
constexpr std::array<uint32_t, 256> crc32c_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
  return table;
}
inline constexpr std::array<uint32_t, 256> kCrc32c = crc32c_table();
}  // namespace detail

constexpr uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes)
    crc = crc >> 8 ^ detail::kCrc32c[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

// As records hold it: turned and shifted, so that a checksum of bytes that hold their own checksum
// is nothing special.
constexpr uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace plimsoll::formats
