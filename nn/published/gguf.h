// A published model as one file for llama.cpp: weights by its names, and the tokenizer.
//
//   published::write_gguf("model.gguf", *model, "models/SmolLM-135M", formats::GgufType::q8_0);
//
// Adapters are merged into their weights, and weights in fewer bits dequantised, as in
// write_model(). Architectures: gpt2, llama (Mistral too), qwen2, qwen3, with the fields and names
// that llama.cpp's converter gives them. Of llama it turns neighbouring features of q and k where
// Hugging Face's turns those of both halves, so their rows change places. Matrices are of the type
// asked for, or f16 where their rows are no whole blocks; vectors and GPT-2's positions are f32.
#pragma once

#include "formats/gguf.h"
#include "nn/decoder/decoder.h"

namespace plimsoll::published {

// `from` is the folder the model came from: of config.json and the tokenizer. The file is there
// whole or not at all. DataError: it is there already, the disk does not take it, the config is of
// another model, the model has what llama.cpp's does not, there is no tokenizer.json. NumericError:
// as formats::write_gguf().
void write_gguf(const std::filesystem::path& file, const nn::Decoder& model,
                const std::filesystem::path& from, formats::GgufType type);

// The fields of a tokenizer.json for a model of so many tokens. DataError.
std::vector<formats::GgufField> tokenizer_fields(const std::filesystem::path& from,
                                                 int64_t vocabulary);

}  // namespace plimsoll::published
