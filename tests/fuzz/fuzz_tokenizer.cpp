// tokenizer.json: a whole tokenizer in one file.
#include "data/text/bpe_files.h"
#include "tests/data/testing.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { data::parse_tokenizer(bytes, "f"); });
}

std::vector<std::string> seeds() {
  const std::string vocabulary = data::byte_vocabulary({"\\u0120t", "he", "Ġthe", "<|end|>"});
  return {
      cat(R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)",
          R"({"id": 259, "special": true, "content": "<|end|>", "single_word": false,)",
          R"( "lstrip": false, "rstrip": false, "normalized": true}], "normalizer": null,)",
          R"( "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},)",
          R"( "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel",)",
          R"( "trim_offsets": false}, {"type": "TemplateProcessing", "single": [{"SpecialToken": )",
          R"({"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],)",
          R"( "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [259]}}}]},)",
          R"( "decoder": {"type": "ByteLevel"}, "model": {"dropout": null, "unk_token": null,)",
          R"( "continuing_subword_prefix": "", "vocab": )", vocabulary,
          R"(, "merges": ["Ġ t", "h e", "Ġt he"]}})"),
      cat(R"({"added_tokens": [{"id": 260, "content": "日本"}, {"id": 261, "content": "<a>"}],)",
          R"( "model": {"type": "BPE", "ignore_merges": true, "merges": [["Ġ", "t"],)",
          R"( ["h", "e"]], "vocab": )", vocabulary,
          R"(}, "pre_tokenizer": {"add_prefix_space": false, "type": "ByteLevel"}})")};
}

std::vector<std::string> words() {
  return {"{",
          "}",
          "[",
          "]",
          "{}",
          "[]",
          ",",
          ":",
          "\"",
          "null",
          "\"merges\": [",
          "\"vocab\": {",
          "\"id\": ",
          "\"content\": \"he\"",
          "true",
          "\\ud83d",
          "[\"h\", \"e\"], ",
          "\"h e\", ",
          "\"type\": \"ByteLevel\"",
          "1e5",
          "-1"};
}

}  // namespace plimsoll::fuzz
