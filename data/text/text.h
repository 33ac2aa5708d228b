// Character-level text: a vocabulary of bytes, and windows of a text with their next characters.
//
//   TextDataset text = split_text("shakespeare", read_text("input.txt"));
//   Batch b = random_windows(text.train, {.batch = 12, .context = 64}, key, step);
//   text.vocabulary.decode(b.x.to_vector<int64_t>());
//
// Windows are cut from tokens of any kind (data/text/tokens.h).
//
// A token is a position in the vocabulary. There are at most 256, so texts are stored as bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "data/text/tokens.h"

namespace plimsoll::data {

class Vocabulary {
 public:
  // The distinct bytes of `text`, in ascending order. DataError when the text is empty.
  explicit Vocabulary(std::string_view text);

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  // ValueError for a byte that is not in the vocabulary.
  std::vector<uint8_t> encode(std::string_view text) const;
  // IndexError for a token outside 0 ... size() - 1.
  std::string decode(std::span<const int64_t> tokens) const;

 private:
  std::string bytes_;                  // token -> byte
  std::array<int16_t, 256> tokens_{};  // byte -> token, -1: none
};

struct TextDataset {
  std::string name;
  Vocabulary vocabulary;            // of the whole text
  std::vector<uint8_t> train;       // tokens: the first 90 %, rounded down
  std::vector<uint8_t> validation;  // the rest
};

// DataError when the text is empty.
TextDataset split_text(std::string name, std::string_view text);

struct WindowAttrs {
  int64_t batch = 1;            // B: windows
  int64_t context = 1;          // T: tokens in a window
  Device device = Device::cpu;  // where the batch lies
};

// B T of one batch: 17 GB of i64.
constexpr int64_t kMostTokens = int64_t{1} << 31;
// ValueError, before anything is allocated, for a batch with more tokens. Sizes are at least 1.
void check_batch_tokens(const char* what, WindowAttrs attrs);

// B windows at random places: x and y i64 [B, T], y the tokens that follow those of x. A pure
// function of its arguments: equal keys and steps give equal windows, so that (key, step) is a
// position to go on from. DataError when the text is shorter than context + 1, ValueError for a
// size below 1 or more than kMostTokens, OutOfMemory.
Batch random_windows(const Tokens& tokens, WindowAttrs attrs, uint64_t key, uint64_t step);

// For evaluation: the text cut into (n - 1) / T windows side by side, B in a batch; each character
// after the first is predicted once, but for fewer than T at the end. Errors as above.
int64_t evaluation_batches(const Tokens& tokens, WindowAttrs attrs);
// Batch number `index` of them; the last may have fewer than B windows. IndexError when out of
// range.
Batch evaluation_windows(const Tokens& tokens, WindowAttrs attrs, int64_t index);

}  // namespace plimsoll::data
