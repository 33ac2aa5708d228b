// What is done to a text before it is cut into pieces.
//
//   normalized("Hello  world", {.marks = true, .front = Front::always}, true);  // "▁Hello▁▁world"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::data {

// Where a mark goes before a text.
enum class Front : uint8_t {
  none,
  always,        // whatever it begins with
  unless_there,  // where it does not begin with a mark already
  at_first,      // the same, and only of the first part of a text with special tokens in it
};

// A blank as SentencePiece writes it (Kudo and Richardson, arXiv 1808.06226): U+2581.
constexpr std::string_view kBlankMark = "\u2581";

struct TextNormalization {
  bool nfc = false;    // Unicode's normalization form C
  bool marks = false;  // blanks become marks
  Front front = Front::none;

  bool any() const { return nfc || marks; }
};

// Form C is by utf8proc's tables: a library with older ones leaves newer marks in their order.
// `is_first`: the part that a text begins with. What is not valid UTF-8 is left as it is.
std::string normalized(std::string_view text, const TextNormalization& how, bool is_first);

}  // namespace plimsoll::data
