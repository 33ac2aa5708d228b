// Files for llama.cpp beside its own Python package, and models that they cannot hold.
#include "nn/published/gguf.h"

#include <nlohmann/json.hpp>

#include "data/file.h"
#include "formats/safetensors.h"
#include "ops/ops.h"
#include "tests/data/byte_tokenizer.h"
#include "tests/nn/published/small_folder.h"
#include "tests/nn/published/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;
using formats::GgufType;
using nlohmann::json;

constexpr GgufType kTypes[] = {GgufType::f16, GgufType::q8_0, GgufType::q4_0};

void add_tokenizer(const fs::path& folder) {
  std::ofstream(folder / "tokenizer.json") << data::byte_tokenizer({"<|end|>"});
}

TEST(PublishedGguf, FilesAreThoseOfLlamaCpp) {
  NEEDS_PYTHON("torch, transformers, gguf, tokenizers, safetensors");
  const data::TemporaryFolder dir;
  const std::string script = "nn/published/references/gguf_files.py";
  const python::Outcome made = python::run(script, {"make", dir.path().string()});
  ASSERT_EQ(made.code, 0) << made.output;
  fs::create_directories(dir / "files");
  for (const char* name :
       {"gpt2", "llama", "llama-biases", "mistral", "qwen2", "qwen3", "odd-rows"}) {
    nn::Initializer init{.seed = 1};
    const auto model = load(dir / name, init);
    for (const GgufType type : kTypes)
      write_gguf(dir / "files" / cat(name, "-", formats::name_of(type), ".gguf"), *model,
                 dir / name, type);
  }
  const python::Outcome checked =
      python::run(script, {"check", dir.path().string(), dir.text("files")});
  EXPECT_EQ(checked.code, 0) << checked.output;
}

// SentencePiece's form: kinds of tokens, and scores in the order of the merges.
TEST(PublishedGguf, TokensThatAreCharactersHaveScores) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  json vocabulary{{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int i = 0; i < 256; ++i) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", i);
    vocabulary[name] = 3 + i;
  }
  for (const char* token : {"\u2581", "t", "h", "e", "th", "the", "\u2581the"})
    vocabulary[token] = vocabulary.size();
  json added = json::array();
  for (const auto& [name, id] : {std::pair("<unk>", 0), {"<s>", 1}, {"</s>", 2}})
    added.push_back({{"id", id}, {"content", name}, {"special", true}, {"normalized", false}});
  const json file{
      {"added_tokens", added},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "\u2581"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
      {"pre_tokenizer", nullptr},
      {"model",
       {{"type", "BPE"},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"byte_fallback", true},
        {"vocab", vocabulary},
        {"merges", {"t h", "th e", "\u2581 the"}}}}};
  std::ofstream(folder / "tokenizer.json") << file;
  std::map<std::string, decltype(formats::GgufField::value)> fields;
  for (const formats::GgufField& field : tokenizer_fields(folder, 300))
    fields[field.key] = field.value;
  const auto& kinds = std::get<std::vector<int32_t>>(fields["tokenizer.ggml.token_type"]);
  EXPECT_EQ(std::vector<int32_t>(kinds.begin(), kinds.begin() + 4),
            (std::vector<int32_t>{2, 3, 3, 6}));
  EXPECT_EQ(kinds[259], 1);
  EXPECT_EQ(kinds[299], 5);
  const auto& scores = std::get<std::vector<float>>(fields["tokenizer.ggml.scores"]);
  EXPECT_EQ(scores[263], -1);
  EXPECT_EQ(scores[264], -2);
  EXPECT_EQ(scores[265], -3);
  EXPECT_EQ(std::get<std::string>(fields["tokenizer.ggml.model"]), "llama");
  EXPECT_EQ(std::get<uint32_t>(fields["tokenizer.ggml.unknown_token_id"]), 0U);
}

// Configs name ends that no token is.
TEST(PublishedGguf, EndsAreTokens) {
  const data::TemporaryFolder dir;
  const auto written = [&](const std::string& text) {
    const fs::path folder = small_folder(dir, "ends", config_with(", \"eos_token_id\": 2", text));
    add_tokenizer(folder);
    for (const formats::GgufField& field : tokenizer_fields(folder, 300))
      if (field.key == "tokenizer.ggml.eos_token_id")
        return static_cast<int64_t>(std::get<uint32_t>(field.value));
    return int64_t{-1};
  };
  EXPECT_EQ(written(", \"eos_token_id\": 299"), 299);
  EXPECT_EQ(written(", \"eos_token_id\": 300"), -1);
  EXPECT_EQ(written(", \"eos_token_id\": -1"), -1);
  EXPECT_EQ(written(""), -1);
}

TEST(PublishedGguf, RefusesWhatLlamaCppHasNot) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  nn::Initializer init{.seed = 1};
  const auto model = load(folder, init);
  const auto refusal = [&](const nn::Decoder& of, const fs::path& from) {
    const std::string why =
        error_of<DataError>([&] { write_gguf(dir / "a.gguf", of, from, GgufType::f16); });
    EXPECT_FALSE(fs::exists(dir / "a.gguf"));
    return why;
  };
  const std::string without = refusal(*model, folder);
  EXPECT_NE(without.find("tokenizer.json"), without.npos) << without;
  add_tokenizer(folder);
  const fs::path gelu = small_folder(
      dir, "gelu", config_with("\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\""));
  add_tokenizer(gelu);
  EXPECT_EQ(refusal(*load(gelu, init), gelu),
            "gguf: llama.cpp's llama has no other activation: this LlamaForCausalLM does. Keep it "
            "in its folder.");
  const fs::path stretched = small_folder(
      dir, "stretched",
      config_with("\"rope_scaling\": null",
                  "\"head_dim\": 4, \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, "
                  "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
                  "\"original_max_position_embeddings\": 32}",
                  config_with("LlamaForCausalLM", "Qwen3ForCausalLM")));
  add_tokenizer(stretched);
  EXPECT_EQ(refusal(*load(stretched, init), stretched),
            "gguf: llama.cpp's qwen3 has no stretching of positions as llama3: this "
            "Qwen3ForCausalLM does. Keep it in its folder.");
  EXPECT_EQ(refusal(*model, gelu), "gguf: the config is of another model: " + gelu.string() +
                                       ". Name the folder that the model came from.");
  std::ofstream(dir / "there.gguf") << "x";
  EXPECT_EQ(
      error_of<DataError>([&] { write_gguf(dir / "there.gguf", *model, folder, GgufType::f16); }),
      "gguf: this is there already: " + (dir / "there.gguf").string() + ". Name a new file.");
  std::vector<NamedTensor> weights = small_weights();
  weights.back().tensor = full(weights.back().tensor.shape(), 7e4, {});
  const fs::path large = small_folder(dir, "large");
  formats::write_safetensors(large / "model.safetensors", weights);
  add_tokenizer(large);
  const auto too_large = load(large, init);
  const std::string why =
      error_of<NumericError>([&] { write_gguf(dir / "a.gguf", *too_large, large, GgufType::f16); });
  EXPECT_NE(why.find("holds 70000, which no number in f16 is."), why.npos) << why;
  for (const auto& entry : fs::directory_iterator(dir.path()))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace plimsoll::published
