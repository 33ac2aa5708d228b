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

bool is_newline(char c) { return c == '\n' || c == '\r'; }

// Of what a text ends with before a number where numbers are cut out first.
bool ends_at(std::string_view text, size_t at, bool at_numbers) {
  return at == text.size() || (at_numbers && character_at(text, at).kind == number);
}

// Of blanks before something else, the last one is left to it.
size_t blanks_end(std::string_view text, size_t begin, bool at_numbers) {
  size_t last = begin;
  const size_t end = run_end(text, begin, space, last);
  return last > begin && !ends_at(text, end, at_numbers) ? last : end;
}

size_t gpt2_end(std::string_view text, size_t begin, bool numbers_first) {
  size_t last = begin;
  const Character first = character_at(text, begin);
  if (numbers_first && first.kind == number) return begin + first.bytes;
  if (text[begin] == '\'')
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
      if (text.substr(begin + 1).starts_with(ending)) return begin + 1 + ending.size();
  const bool blank = text[begin] == ' ' && !ends_at(text, begin + 1, numbers_first);
  const CharacterKind kind = character_at(text, begin + blank).kind;
  if (kind != space) return run_end(text, begin + blank, kind, last);
  return blanks_end(text, begin, numbers_first);
}

// The bytes of 's, 't and so on behind the ', in any case; 0: none. Without regard to case the long
// s is an s too.
size_t ending_bytes(std::string_view text) {
  if (text.starts_with("\u017F")) return 2;
  const auto lower = [&](size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
    if (lower(0) == ending[0] && (ending.size() == 1 || lower(1) == ending[1]))
      return ending.size();
  return 0;
}

size_t llama3_end(std::string_view text, size_t begin, int most_digits) {
  size_t last = begin;
  if (text[begin] == '\'')
    if (const size_t bytes = ending_bytes(text.substr(begin + 1)); bytes > 0)
      return begin + 1 + bytes;
  const Character first = character_at(text, begin);
  if (first.kind == letter) return run_end(text, begin, letter, last);
  const size_t next = begin + first.bytes;
  const CharacterKind second = next < text.size() ? character_at(text, next).kind : number;
  if (first.kind == number) {
    size_t end = next;
    for (int n = 1; n < most_digits && end < text.size(); ++n) {
      const Character c = character_at(text, end);
      if (c.kind != number) break;
      end += c.bytes;
    }
    return end;
  }
  if (second == letter && !is_newline(text[begin])) return run_end(text, next, letter, last);
  const bool blank = text[begin] == ' ' && second == other;
  if (blank || first.kind == other) {
    size_t end = run_end(text, begin + blank, other, last);
    while (end < text.size() && is_newline(text[end])) ++end;
    return end;
  }
  const size_t end = run_end(text, begin, space, last);
  const size_t newline = text.substr(begin, end - begin).find_last_of("\r\n");
  return newline == text.npos ? blanks_end(text, begin, false) : begin + newline + 1;
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

size_t piece_end(std::string_view text, size_t begin, Cut cut) {
  switch (cut) {
    case Cut::whole:
      return text.size();
    case Cut::llama3:
      return llama3_end(text, begin, 3);
    case Cut::qwen2:
      return llama3_end(text, begin, 1);
    default:
      return gpt2_end(text, begin, cut == Cut::digits);
  }
}

}  // namespace plimsoll::data
