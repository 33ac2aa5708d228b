// The forms of a tokenizer.json other than GPT-2's that are done here, each word for word but for
// what changes no id: how a text is normalized and cut, what is put before and behind it, and how
// it comes back.
//
//   BpeAttrs attrs = take_forms(file);      // what is left in `file` is GPT-2's, or refused
//
//   Llama 3, Qwen 2 and 3    a Split by their regular expressions, then bytes; Unicode's form C
//   SmolLM                   Digits, then as GPT-2
//   Llama 2, Mistral         marks for blanks, by a normalizer or by Metaspace; characters
//   TemplateProcessing       of special tokens around one text, alone or in a Sequence
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "data/text/bpe.h"

namespace plimsoll::data {

// Of the sections normalizer, pre_tokenizer, post_processor and decoder of `file`, those that have
// one of these forms become null.
BpeAttrs take_forms(nlohmann::json& file);

}  // namespace plimsoll::data
