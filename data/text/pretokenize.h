// How a text is cut into pieces before tokens are merged in each: the matches, one after another,
// of a regular expression. Every byte of the text is in one piece.
//
//   for (size_t begin = 0; begin < text.size();) {
//     const size_t end = piece_end(text, begin, Cut::gpt2);
//     use(text.substr(begin, end - begin));  // "Hello", ",", " world", "'s", "\n\n"
//     begin = end;
//   }
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::data {

// As it stands in the published tokenizers:
//
//   gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//           (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019)
//   digits  the same in what is left between numbers, each of which is a piece (SmolLM)
//   llama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//           ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//           (where the second line begins with a blank)
//   qwen2   the same with \p{N} in place of \p{N}{1,3}
//   whole   the whole text is one piece
enum class Cut : uint8_t { gpt2, digits, llama3, qwen2, whole };

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
size_t piece_end(std::string_view text, size_t begin, Cut cut);

}  // namespace plimsoll::data
