// Text for messages: cat("conv2d: ", shape, " has ", 3, " axes") joins anything that has
// append_text(). A type joins in by declaring `void append_text(std::string& out, const T&)` in its
// own header.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace plimsoll {

inline void append_text(std::string& out, std::string_view text) { out += text; }

// A template, or every string literal would prefer its conversion to bool.
template <std::same_as<bool> T>
void append_text(std::string& out, T value) {
  out += value ? "true" : "false";
}

// Numbers in their shortest form that reads back to the same value.
void append_text(std::string& out, float value);
void append_text(std::string& out, double value);
void append_integer(std::string& out, long long value);
void append_integer(std::string& out, unsigned long long value);
template <std::integral T>
requires(!std::same_as<T, bool>) void append_text(std::string& out, T value) {
  using Widest = std::conditional_t<std::signed_integral<T>, long long, unsigned long long>;
  append_integer(out, static_cast<Widest>(value));
}

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

}  // namespace plimsoll
