#include "core/tensor/bytes.h"

#include <algorithm>
#include <charconv>
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

int64_t parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                             {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},     {"MB", 1e6},
                             {"GB", 1e9},     {"TB", 1e12}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view rest(stop, static_cast<size_t>(end - stop));
  const std::string_view name = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
  check<ValueError>(error == std::errc{} && unit != std::end(kUnits), "bytes: not a size: \"", text,
                    "\". Write a number and a unit, as in 300MiB or 1.5GB.");
  const double bytes = number * unit->bytes;
  check<ValueError>(bytes >= 1 && bytes < 0x1p63, "bytes: not a size that memory can have: \"",
                    text, "\". Write a number above 0, as in 300MiB.");
  return static_cast<int64_t>(bytes);
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
