// How GPT-2 cuts a text into pieces before it merges bytes: the matches, one after another, of
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, and its published
// code.) Every byte of the text is in one piece.
//
//   for (size_t begin = 0; begin < text.size();) {
//     const size_t end = piece_end(text, begin);
//     use(text.substr(begin, end - begin));  // "Hello", ",", " world", "'s", "\n\n"
//     begin = end;
//   }
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::data {

enum class CharacterKind : uint8_t { letter, number, space, other };

struct Character {
  CharacterKind kind;
  uint8_t bytes;  // 1 to 4
};

// The character at text[begin], of UTF-8: \p{L}, \p{N} or \s as Unicode says, or none of them. A
// byte that is not part of valid UTF-8 is a character by itself, of kind other.
// begin < text.size().
Character character_at(std::string_view text, size_t begin);

// The end of the piece that begins at `begin` < text.size(); larger than `begin`.
size_t piece_end(std::string_view text, size_t begin);

}  // namespace plimsoll::data
