#include "core/base/text.h"

#include <charconv>

namespace plimsoll {
namespace {

template <class T>
void append(std::string& out, T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end.ptr);
}

}  // namespace

void append_text(std::string& out, float value) { append(out, value); }
void append_text(std::string& out, double value) { append(out, value); }
void append_integer(std::string& out, long long value) { append(out, value); }
void append_integer(std::string& out, unsigned long long value) { append(out, value); }

}  // namespace plimsoll
