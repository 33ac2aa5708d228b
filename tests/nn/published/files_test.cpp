// Weights of published folders: shards, and files that are damaged or of another model.
#include "formats/shards.h"
#include "nn/published/adapter.h"
#include "tests/nn/published/small_folder.h"
#include "tests/support/errors.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;

std::string refusal(const fs::path& folder, const nn::DecoderOptions& options = {}) {
  nn::Initializer init{.seed = 1};
  return error_of<DataError>([&] { load(folder, init, options); });
}

TEST(PublishedFiles, WeightsAreMappedFromOneFileOrSeveral) {
  const data::TemporaryFolder dir;
  const fs::path whole = small_folder(dir);
  const fs::path shards = small_folder(dir, "shards");
  fs::remove(shards / "model.safetensors");
  const std::vector<NamedTensor> all = small_weights();
  std::map<std::string, std::string> files;
  for (const auto& [file, first, last] : {std::tuple("a.safetensors", size_t{0}, size_t{5}),
                                          {"b.safetensors", size_t{5}, all.size()}}) {
    const std::span<const NamedTensor> some(&all[first], last - first);
    formats::write_safetensors(shards / file, some);
    for (const NamedTensor& own : some) files[own.name] = file;
  }
  std::ofstream(shards / formats::Shards::kIndex) << formats::index_text(files, 0);
  nn::Initializer init{.seed = 1};
  const Tensor ids = Tensor::of<int64_t>({1, 5, 299, 7}, {1, 4});
  EXPECT_EQ((*load(whole, init))(ids).to_vector<float>(),
            (*load(shards, init))(ids).to_vector<float>());
}

TEST(PublishedFiles, WeightsOfAnotherModelAreRefused) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  const std::string file = (folder / "model.safetensors").string();
  const auto with_config = [&](const std::string& old, const std::string& text) {
    std::ofstream(folder / "config.json") << config_with(old, text);
    return refusal(folder);
  };
  EXPECT_EQ(with_config("\"intermediate_size\": 24", "\"intermediate_size\": 25"),
            "weights: a tensor has another shape: \"model.layers.0.mlp.gate_proj.weight\" is [24, "
            "16] in " +
                file + ", and the config says [25, 16]. Use files that belong together.");
  EXPECT_EQ(with_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"),
            "safetensors: there is no \"model.layers.2.input_layernorm.weight\" in " + file +
                ". Use the files that belong to this model.");
  EXPECT_EQ(with_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1"),
            "weights: a tensor does not belong to LlamaForCausalLM: "
            "\"model.layers.1.input_layernorm.weight\" in " +
                file + ". Use files that belong together.");
  EXPECT_EQ(with_config("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"),
            "weights: the output layer is not the token table, and the config says that it is: "
            "\"lm_head.weight\" in " +
                file + ". Use files that belong together.");
}

TEST(PublishedFiles, AdaptersThatDoNotFitAreRefused) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  nn::Initializer init{.seed = 1};
  const auto options = [](std::vector<std::string> targets, int64_t rank = 4) {
    return nn::DecoderOptions{.lora = nn::LoraOptions{.rank = rank, .targets = std::move(targets)}};
  };
  EXPECT_EQ(error_of<ValueError>([&] {
              load(folder, init, options({"q_proj", "c_attn"}));
            }),
            "lora: the target matches nothing: c_attn in LlamaForCausalLM, whose last matrix is "
            "lm_head. Name matrices of this model.");
  EXPECT_EQ(error_of<ValueError>([&] { load(folder, init, options({})); }),
            "lora: there are no targets. Name matrices, such as all-linear.");
  EXPECT_EQ(error_of<ValueError>([&] { load(folder, init, options({"k_proj"}, 9)); }),
            "lora: the rank is not 1 to 8: 9 for a matrix of 8 x 16. Use a smaller one.");
  const nn::DecoderOptions some = options({"q_proj"});
  const auto model = load(folder, init, some);
  write_adapter(dir / "adapter", *model, *some.lora, "base");
  const std::string file = (dir / "adapter" / "adapter_model.safetensors").string();
  const std::string made_for = ". Name the model that it was made for.";
  const fs::path wider =
      small_folder(dir, "wider", config_with("\"hidden_size\": 16", "\"hidden_size\": 32"));
  const auto other = load(wider, init, some);
  EXPECT_EQ(error_of<DataError>([&] { read_adapter(dir / "adapter", *other); }),
            "adapter: a tensor is of another base: "
            "\"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight\" is f32 [4, 16] on "
            "cpu in " +
                file + " and [4, 32] here" + made_for);
  const auto deeper =
      load(small_folder(dir, "deeper",
                        config_with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3")),
           init, some);
  EXPECT_EQ(error_of<DataError>([&] { read_adapter(dir / "adapter", *deeper); }),
            "adapter: a tensor is missing: "
            "\"base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight\" in " +
                file + made_for);
  const auto less =
      load(small_folder(dir, "less",
                        config_with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1")),
           init, some);
  const std::string left = error_of<DataError>([&] { read_adapter(dir / "adapter", *less); });
  EXPECT_TRUE(
      left.starts_with("adapter: a tensor belongs to no target: "
                       "\"base_model.model.model.layers.1.self_attn."))
      << left;
}

// Another weight that is cut short, and what is in the way of a result.
TEST(PublishedFiles, AdaptersAreReadAndWrittenWholeOrNotAtAll) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  nn::Initializer init{.seed = 1};
  const nn::DecoderOptions some{.lora = nn::LoraOptions{.rank = 4, .targets = {"q_proj"}}};
  const auto model = load(folder, init, some);
  write_adapter(dir / "adapter", *model, *some.lora, "base");
  const fs::path file = dir / "adapter" / "adapter_model.safetensors";
  const auto values = [&] {
    std::vector<float> all;
    for (const Tensor& p : model->parameters())
      for (const float value : p.to_vector<float>()) all.push_back(value);
    return all;
  };
  for (const Tensor& p : model->parameters()) nn::assign(p, full(p.shape(), 3, {}));
  const std::vector<float> before = values();
  fs::resize_file(file, fs::file_size(file) - 4);
  const std::string cut = error_of<DataError>([&] { read_adapter(dir / "adapter", *model); });
  EXPECT_NE(cut.find("adapter_model.safetensors"), cut.npos) << cut;
  fs::remove(file);
  const std::string gone = error_of<DataError>([&] { read_adapter(dir / "adapter", *model); });
  EXPECT_NE(gone.find("adapter_model.safetensors"), gone.npos) << gone;
  EXPECT_EQ(values(), before);

  const fs::path nowhere = dir / "no" / "adapter";
  const std::string made =
      " (No such file or directory). Name one in a folder that exists and is "
      "yours.";
  EXPECT_EQ(error_of<DataError>([&] { write_adapter(nowhere, *model, *some.lora, "base"); }),
            "adapter: the folder cannot be made: " + nowhere.string() + made);
  EXPECT_EQ(error_of<DataError>([&] { write_model(nowhere, *model, folder); }),
            "export: the folder cannot be made: " + nowhere.string() + made);
  const fs::path other =
      small_folder(dir, "other", config_with("\"hidden_size\": 16", "\"hidden_size\": 32"));
  EXPECT_EQ(error_of<DataError>([&] { write_model(dir / "out", *model, other); }),
            "export: the config is of another model: " + (other / "config.json").string() +
                ". Name the folder that the model came from.");
  EXPECT_FALSE(fs::exists(dir / "out"));
  EXPECT_FALSE(fs::exists(dir / "no"));
}

TEST(PublishedFiles, AdapterConfigsAreRefusedByTheirFields) {
  const data::TemporaryFolder dir;
  const auto refusal_of = [&](const std::string& config) {
    fs::create_directories(dir / "a");
    std::ofstream(dir / "a" / "adapter_config.json") << config;
    return error_of<DataError>([&] { read_adapter_options(dir / "a"); });
  };
  const std::string file = (dir / "a" / "adapter_config.json").string();
  const std::string good = R"("peft_type": "LORA", "r": 4, "lora_alpha": 8)";
  const std::string targets = R"(, "target_modules": ["q_proj"])";
  EXPECT_EQ(refusal_of("{" + good + targets + ", \"use_dora\": true}"),
            "adapter: a field of an adapter is not known, and may change its numbers: " + file +
                " has use_dora true. Take it out if it does not.");
  EXPECT_EQ(refusal_of("{" + good + targets + ", \"rank_pattern\": {\"q_proj\": 2}}"),
            "adapter: a field of an adapter is not known, and may change its numbers: " + file +
                " has rank_pattern {\"q_proj\":2}. Take it out if it does not.");
  EXPECT_EQ(refusal_of("{" + good + targets + ", \"init_lora_weights\": \"pissa\"}"),
            "adapter: such a beginning may change the base: " + file +
                " has init_lora_weights \"pissa\". Convert the adapter to one that does not, as "
                "PEFT can.");
  EXPECT_EQ(refusal_of("{" + good + targets + ", \"bias\": \"all\"}"),
            "adapter: this is not done here: " + file + " has bias \"all\". Only \"none\" is.");
  EXPECT_EQ(refusal_of("{" + good + ", \"target_modules\": \".*q_proj\"}"),
            "adapter: this is neither a list of names nor all-linear: " + file +
                " has target_modules \".*q_proj\". Patterns are not done here: name the matrices.");
  EXPECT_EQ(
      refusal_of("{\"peft_type\": \"IA3\"}"),
      "adapter: this is not done here: " + file + " has peft_type \"IA3\". Only \"LORA\" is.");
  EXPECT_EQ(
      refusal_of("{\"lora_alpha\": 8" + targets + "}"),
      "adapter: a field is missing: " + file + " has no r. Use the file as it was published.");
}

}  // namespace
}  // namespace plimsoll::published
