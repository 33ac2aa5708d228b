#include "data/text/pretokenize.h"

#include <utf8proc.h>

#include <array>

namespace plimsoll::data {
namespace {

using enum CharacterKind;

constexpr std::array<CharacterKind, 128> kAscii = [] {
  std::array<CharacterKind, 128> kinds{};
  for (int c = 0; c < 128; ++c) {
    const bool in_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
    kinds[static_cast<size_t>(c)] = in_word                ? letter
                                    : c >= '0' && c <= '9' ? number
                                    : blank                ? space
                                                           : other;
  }
  return kinds;
}();

// The property White_Space beyond ASCII, which Unicode promises to change no more.
bool is_space(utf8proc_int32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

CharacterKind kind_of(utf8proc_int32_t c) {
  if (is_space(c)) return space;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return number;
    default:
      return other;
  }
}

// The end of the characters of that kind that begin at `begin`; `last` becomes where the last one
// begins.
size_t run_end(std::string_view text, size_t begin, CharacterKind kind, size_t& last) {
  while (begin < text.size()) {
    const Character c = character_at(text, begin);
    if (c.kind != kind) break;
    last = begin;
    begin += c.bytes;
  }
  return begin;
}

}  // namespace

Character character_at(std::string_view text, size_t begin) {
  const auto first = static_cast<uint8_t>(text[begin]);
  if (first < 128) return {kAscii[first], 1};
  utf8proc_int32_t c = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + begin);
  const utf8proc_ssize_t n =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - begin), &c);
  if (n <= 0) return {other, 1};
  return {kind_of(c), static_cast<uint8_t>(n)};
}

size_t piece_end(std::string_view text, size_t begin) {
  if (text[begin] == '\'')
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
      if (text.substr(begin + 1).starts_with(ending)) return begin + 1 + ending.size();
  size_t last = begin;
  const bool blank = text[begin] == ' ' && begin + 1 < text.size();
  const CharacterKind kind = character_at(text, begin + blank).kind;
  if (kind != space) return run_end(text, begin + blank, kind, last);
  // Of blanks before something else, the last one is left to it.
  const size_t end = run_end(text, begin, space, last);
  return end < text.size() && last > begin ? last : end;
}

}  // namespace plimsoll::data
