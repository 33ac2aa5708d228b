// The files in which byte-level tokenizers are published.
//
//   load_tokenizer("gpt2")             a folder with vocab.json and merges.txt
//   load_tokenizer("tokenizer.json")   all in one file (Hugging Face's), or a folder with one,
//                                      whatever else is there: it says more than the others
//
//   vocab.json      {"Ġthe": 262, ...}: a token's bytes, each written as one character: printable
//                   bytes of Latin-1 as themselves, the other 68 as U+0100, U+0101, ...; its id
//   merges.txt      "Ġ t": two tokens a line, those merged first first; the first line may be
//                   "#version: ..."
//   tokenizer.json  vocabulary and merges as above, tokens that are found in a text before it is
//                   cut, and how it is cut. An added token has the id of its key in the vocabulary,
//                   as it is written there, or else the next that is free: refused unless the file
//                   says so
//
// Text is cut into pieces as for GPT-2: a tokenizer.json that asks for anything else is refused.
#pragma once

#include <filesystem>

#include "data/bpe.h"

namespace plimsoll::data {

// DataError naming file and line (in JSON: the byte, the token or the key): what read_text refuses,
// what is not of these forms or asks for what is not done here (a normalizer, another model, and so
// on), a key, a token or an id that is there twice, ids from 0 with more gaps than tokens, a merge
// of tokens that are not in the vocabulary; and what BytePairEncoding refuses.
BytePairEncoding load_tokenizer(const std::filesystem::path& path);

// The parts, from text; `name` is the file in messages.
std::vector<std::string> parse_vocabulary(std::string_view json, const std::string& name);
std::vector<Merge> parse_merges(std::string_view text, const std::string& name,
                                const std::vector<std::string>& tokens);
BytePairEncoding parse_tokenizer(std::string_view json, const std::string& name);

}  // namespace plimsoll::data
