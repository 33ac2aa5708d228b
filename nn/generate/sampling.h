// Choosing the next token from the scores that a model gives to all of them.
//
//   const SamplingOptions options{.temperature = 0.8, .top_k = 40, .top_p = 0.95};
//   const int64_t token = sample(logits, options, /*key=*/seed, /*number=*/position);
//
// In the order of Hugging Face's transformers: the scores are divided by the temperature; of these,
// top_k leaves the k highest, and all that equal the last of them; of these, top_p leaves the most
// probable ones until their share is p or more, and one at least (nucleus sampling: Holtzman et
// al., "The Curious Case of Neural Text Degeneration", 2020, arXiv 1904.09751). One of them is
// drawn by its probability among them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::nn {

struct SamplingOptions {
  bool greedy = false;     // the highest score, of equal ones the first; nothing is drawn
  double temperature = 1;  // above 0; below 1 makes the probable more probable
  int64_t top_k = 0;       // 0: all
  double top_p = 1;        // above 0, at most 1
};

// ValueError for numbers that are out of these ranges.
void check_sampling(const SamplingOptions& options);

struct Choice {
  int64_t token;
  double probability;  // among the choices
};

// What may be drawn, by number of the token: worked out in double. Tokens of the same probability
// count as ordered by their numbers. NumericError for scores among which are NaN or +infinity, or
// nothing else than -infinity; ValueError for none and for options that are out of range.
std::vector<Choice> choices(std::span<const float> logits, const SamplingOptions& options);

// The token: a pure function of its arguments. `number` tells draws under one key from each other,
// such as the position of the token. Errors as above.
int64_t sample(std::span<const float> logits, const SamplingOptions& options, uint64_t key,
               uint64_t number);

}  // namespace plimsoll::nn
