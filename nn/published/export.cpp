#include "nn/published/export.h"

#include <nlohmann/json.hpp>
#include <set>

#include "autograd/no_grad.h"
#include "data/atomic_file.h"
#include "data/file.h"
#include "data/json.h"
#include "formats/safetensors.h"
#include "nn/published/config.h"
#include "nn/published/new_folder.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
                                           "tokenizer_config.json",
                                           "tokenizer.model",
                                           "vocab.json",
                                           "merges.txt",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "chat_template.jinja",
                                           "generation_config.json"};

const char* torch_name(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
    case DType::f64:
      return "float64";
    default:
      return "float32";
  }
}

// The config of `from` with another type of weights, as written there otherwise.
std::string config_text(const fs::path& from, const nn::Decoder& model, DType dtype) {
  const std::string file = (from / "config.json").string();
  const std::string text = data::read_text(file);
  check<DataError>(parse_config(text, file).decoder == model.config(),
                   "export: the config is of another model: ", file,
                   ". Name the folder that the model came from.");
  Json config = data::parse_object(text, {.reader = "config", .name = file});
  config[config.contains("torch_dtype") ? "torch_dtype" : "dtype"] = torch_name(dtype);
  return config.dump(2) + "\n";
}

}  // namespace

std::vector<NamedTensor> merged_weights(const nn::Decoder& model) {
  const NoGrad scope;
  const DType dtype = model.tokens().dtype();  // norms beside 16 bits are f32 here
  std::map<std::string, NamedTensor> merged;   // by the name of what it stands in place of
  std::set<std::string> left_out;
  model.visit([&](const std::string& prefix, const nn::Module& module) {
    const auto* projection = dynamic_cast<const nn::Projection*>(&module);
    if (!projection || !(projection->lora() || projection->quantised())) return;
    merged[prefix + (projection->quantised() ? "codes" : "weight")] = {
        prefix + "weight", cast(projection->merged(), dtype)};
    if (projection->quantised())
      for (const char* part : {"scales", "block_scales", "offset"}) left_out.insert(prefix + part);
  });
  std::vector<NamedTensor> weights;
  for (const auto& list : {model.named_frozen(), model.named_parameters()})
    for (const NamedTensor& own : list) {
      if (own.name.find(".lora.lora_") != std::string::npos || left_out.contains(own.name))
        continue;
      const auto found = merged.find(own.name);
      const NamedTensor& now = found == merged.end() ? own : found->second;
      weights.push_back({nn::published_name(model.config(), now.name), cast(now.tensor, dtype)});
    }
  return weights;
}

void write_model(const fs::path& folder, const nn::Decoder& model, const fs::path& from) {
  const std::vector<NamedTensor> weights = merged_weights(model);
  const std::string config = config_text(from, model, model.tokens().dtype());
  make_folder(folder, "export", [&](const fs::path& fresh) {
    formats::write_safetensors(fresh / "model.safetensors", weights, {{"format", "pt"}});
    data::write_atomically(fresh / "config.json", config);
    std::error_code error;
    for (const char* name : kTokenizerFiles) {
      if (!fs::exists(from / name, error)) continue;
      fs::copy_file(from / name, fresh / name, error);
      check<DataError>(!error, "export: a file cannot be copied: ", (from / name).string(), " (",
                       error.message(), "). Look at the space on the disk.");
    }
  });
}

}  // namespace plimsoll::published
