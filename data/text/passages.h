// Passages: a text as a classification task. The text is cut into ten parts; given T words from
// somewhere, say which part they come from.
//
//   PassageDataset task = make_passages(load_text("builtin"), {.vocabulary = 10000});
//   Batch b = random_passages(task, {.batch = 32, .context = 128}, key, step);   // y: [32], 0...9
//
// Words are runs of letters, digits and underscores, and single other printing characters; a word
// becomes its FNV-1a hash modulo the vocabulary. The first 90 % of each part are for training.
#pragma once

#include "data/text/text.h"

namespace plimsoll::data {

constexpr int64_t kPassageClasses = 10;

struct PassageAttrs {
  int64_t vocabulary = 10000;
};

struct PassageDataset {
  std::string name;
  // For each part, its words as numbers 0 ... vocabulary - 1.
  std::array<std::vector<int32_t>, kPassageClasses> train, test;
};

// ValueError for a vocabulary below 1, or above INT32_MAX.
PassageDataset make_passages(const TextDataset& text, PassageAttrs attrs = {});

// B passages of T words at random places of random parts: x i64 [B, T], y i64 [B]. A pure function
// of its arguments. DataError when a part is shorter than a passage, ValueError for a size below 1
// or more than kMostTokens.
Batch random_passages(const PassageDataset& dataset, WindowAttrs attrs, uint64_t key,
                      uint64_t step);

// The test words of all parts cut into passages side by side, B in a batch.
int64_t test_passage_batches(const PassageDataset& dataset, WindowAttrs attrs);
Batch test_passages(const PassageDataset& dataset, WindowAttrs attrs, int64_t index);

}  // namespace plimsoll::data
