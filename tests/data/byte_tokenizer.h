// A tokenizer.json of the 256 bytes and special tokens behind them.
//
//   dir.write("tokenizer.json", byte_tokenizer({"<|end|>"}));
#pragma once

#include "tests/data/testing.h"

namespace plimsoll::data {

inline std::string byte_tokenizer(const std::vector<std::string>& special) {
  std::string added;
  for (size_t i = 0; i < special.size(); ++i)
    added += cat(i > 0 ? ", " : "", R"({"id": )", 256 + i, R"(, "content": ")", special[i],
                 R"(", "special": true, "normalized": false})");
  return cat(R"({"added_tokens": [)", added,
             R"(], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, )",
             R"("model": {"type": "BPE", "merges": [], "vocab": )", byte_vocabulary({}), "}}");
}

}  // namespace plimsoll::data
