// Conversations as batches: the loss counts on answers only.
//
//   const ChatData chat(data::read_conversations("chat.jsonl"), form, bpe, {.context = 512});
//   train::Batches training = chat.training(8, /*seed=*/1), held_out = chat.held_out(8);
//
// Of a conversation the tokens are all but the last, the labels those that follow them, -100 where
// it is not of an answer; what ends an answer is of it. Rows hold as many conversations as fit: the
// longest first, each in the first row that has room (data/text/packing.h). x is as nn::Packed
// takes it, i64 [B, 3, T]; y i64 [B, T].
#pragma once

#include "data/text/bpe.h"
#include "data/text/chat.h"
#include "data/text/packing.h"
#include "train/batches.h"

namespace plimsoll::examples {

struct ChatOptions {
  int64_t context = 0;    // tokens of a row; 0: as many as the longest conversation has
  int64_t most = 0;       // that a row may have
  std::string file = "";  // for messages
  Device device = Device::cpu;
};

class ChatData {
 public:
  // The last tenth, one at least, is held out. DataError naming the file and the line: fewer than
  // two conversations, one that is longer than the context, texts that the tokenizer changes.
  ChatData(const std::vector<data::Conversation>& conversations, const data::ChatTemplate& form,
           const data::BytePairEncoding& bpe, const ChatOptions& options);

  int64_t context() const { return context_; }
  // `batch` rows at a time in an order that is another in each epoch; fewer at the end are left
  // out. DataError where there are not so many.
  train::Batches training(int64_t batch, uint64_t seed) const;
  train::Batches held_out(int64_t batch) const;

 private:
  train::Batches batches_of(const data::PackedRows& rows, int64_t batch) const;

  std::string file_;
  Device device_;
  int64_t context_ = 0;
  std::shared_ptr<const data::PackedRows> training_, held_out_;
};

}  // namespace plimsoll::examples
