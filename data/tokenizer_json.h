// tokenizer.json, in which Hugging Face's tokenizers keep all of a tokenizer: read as far as it is
// a byte-level BPE of GPT-2's form.
//
//   const TokenizerJson file = read_tokenizer_json(text, "tokenizer.json");
//   file.vocabulary;   // {{"!", 0}, ..., {"Ġthe", 262}, ...}, as in vocab.json
//   file.merges;       // "Ġ t\nh e\n...", as in merges.txt
//   file.added;        // {{"<|endoftext|>", 50256, false}}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::data {

// A token that is found in a text before anything else is done to it; where `normalized`, after
// those that are not.
struct AddedToken {
  std::string content;
  int64_t id = -1;
  bool normalized = false;
};

struct TokenizerJson {
  std::vector<std::pair<std::string, int64_t>> vocabulary;
  std::string merges;
  std::vector<AddedToken> added;
  bool ignore_merges = false;  // for pieces that are tokens
};

// DataError naming the byte where the text is no JSON, the key that is missing, there twice or not
// of the format, and what the file asks for that is not done here: a normalizer, another way to cut
// text into pieces, another model, tokens put around a text, and so on.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& name);

}  // namespace plimsoll::data
