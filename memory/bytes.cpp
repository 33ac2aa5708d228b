#include "memory/bytes.h"

#include <cstdio>

namespace plimsoll {

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", number, kUnits[unit]);
  return text;
}

std::string bytes_text(const BytesByClass& bytes) {
  std::string text;
  for (int c = 0; c < kMemoryClasses; ++c) {
    if (bytes[c] == 0) continue;
    if (!text.empty()) text += ", ";
    text += cat(name_of(static_cast<MemoryClass>(c)), " ", bytes_text(bytes[c]));
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace plimsoll
