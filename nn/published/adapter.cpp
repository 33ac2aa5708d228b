#include "nn/published/adapter.h"

#include <algorithm>
#include <set>

#include "core/engine/transfer.h"
#include "data/atomic_file.h"
#include "data/file.h"
#include "data/json.h"
#include "formats/safetensors.h"
#include "formats/safetensors_header.h"
#include "nn/published/fields.h"
#include "nn/published/new_folder.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using nn::LoraOptions;

constexpr const char *kConfig = "adapter_config.json", *kWeights = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.", kOurs = ".lora.lora_", kTheirs = ".lora_";
constexpr std::string_view kBase = ".base_layer.";

// What says nothing: PEFT writes every field that it has.
bool is_empty(const Json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

std::vector<std::string> targets_of(Fields& fields) {
  const Json& targets = fields.take("target_modules");
  if (targets == "all-linear") return {"all-linear"};
  std::vector<std::string> names;
  if (targets.is_array())
    for (const Json& target : targets)
      if (target.is_string()) names.push_back(target.get<std::string>());
  if (names.empty() || names.size() != targets.size())
    fields.refuse("target_modules", "this is neither a list of names nor all-linear",
                  "Patterns are not done here: name the matrices.");
  std::ranges::sort(names);
  return names;
}

// PEFT saves tables of the base beside an adapter of them: they must be what they were.
void check_of_base(const formats::Safetensors& file, const std::string& name,
                   const nn::Decoder& model, const std::string& path) {
  std::string bare = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
  if (const size_t at = bare.find(kBase); at != bare.npos) bare.erase(at, kBase.size() - 1);
  for (const NamedTensor& own : model.named_frozen()) {
    if (nn::published_name(model.config(), own.name) != bare) continue;
    const Tensor theirs = file.mapped(name);
    check<DataError>(theirs.shape() == own.tensor.shape() && is_floating(theirs.dtype()) &&
                         theirs.to_vector<double>() == own.tensor.to_vector<double>(),
                     "adapter: it changes a weight of the base: ", formats::in_quotes(name), " in ",
                     path, ". Name the model that it was made for.");
    return;
  }
  fail<DataError>("adapter: a tensor belongs to no target: ", formats::in_quotes(name), " in ",
                  path, ". Name the model that it was made for.");
}

// The tensors of a model's adapters by their names in such files.
std::vector<NamedTensor> adapter_tensors(const nn::Decoder& model) {
  std::vector<NamedTensor> tensors;
  for (const NamedTensor& own : model.named_parameters()) {
    const size_t at = own.name.rfind(kOurs);
    if (at == std::string::npos) continue;
    const std::string module = nn::published_name(model.config(), own.name.substr(0, at + 1));
    tensors.push_back({cat(kPrefix, module.substr(0, module.size() - 1), kTheirs,
                           own.name.substr(at + kOurs.size())),
                       own.tensor});
  }
  return tensors;
}

}  // namespace

LoraOptions read_adapter_options(const fs::path& folder) {
  data::check_folder(folder);
  const fs::path file = folder / kConfig;
  return parse_adapter_options(data::read_text(file), file.string());
}

LoraOptions parse_adapter_options(std::string_view json, const std::string& file) {
  Json object = data::parse_object(json, {.reader = "adapter", .name = file});
  for (auto field = object.begin(); field != object.end();)
    field = is_empty(*field) ? object.erase(field) : std::next(field);
  Fields fields(object, "adapter", file);
  fields.only("peft_type", "LORA");
  fields.only("bias", "none");
  fields.only("task_type", "CAUSAL_LM");
  LoraOptions options{.rank = fields.whole("r"),
                      .alpha = fields.number("lora_alpha"),
                      .dropout = fields.number("lora_dropout", 0),
                      .rank_stabilised = fields.truth("use_rslora", false),
                      .targets = targets_of(fields)};
  if (options.rank < 1) fields.refuse("r", "the rank is below 1", "Use 1 or more.");
  if (!(options.dropout >= 0 && options.dropout < 1))
    fields.refuse("lora_dropout", "this is no share below 1", "Use 0 <= p < 1.");
  // Other beginnings (pissa, olora, loftq, ...) change the weights of the base.
  const Json& begun = fields.take("init_lora_weights");
  if (!begun.is_null() && !begun.is_boolean() && begun != "gaussian")
    fields.refuse("init_lora_weights", "such a beginning may change the base",
                  "Convert the adapter to one that does not, as PEFT can.");
  // How the base lies in memory, and notes.
  fields.ignore({"fan_in_fan_out", "base_model_name_or_path", "revision", "inference_mode",
                 "peft_version", "auto_mapping", "megatron_core", "qalora_group_size"});
  fields.check_all_taken("an adapter");
  return options;
}

void read_adapter(const fs::path& folder, const nn::Decoder& model) {
  const formats::Safetensors file(folder / kWeights);
  std::vector<std::pair<Tensor, Tensor>> both;
  std::set<std::string> known;
  for (const NamedTensor& own : adapter_tensors(model)) {
    known.insert(own.name);
    check<DataError>(file.has(own.name), "adapter: a tensor is missing: \"", own.name, "\" in ",
                     (folder / kWeights).string(), ". Name the model that it was made for.");
    const Tensor read = file.mapped(own.name);
    check<DataError>(is_floating(read.dtype()) && read.shape() == own.tensor.shape(),
                     "adapter: a tensor is of another base: \"", own.name, "\" is ", read.meta(),
                     " in ", (folder / kWeights).string(), " and ", own.tensor.shape(),
                     " here. Name the model that it was made for.");
    both.emplace_back(own.tensor, cast(read, own.tensor.dtype()));
  }
  for (const std::string& name : file.names())
    if (!known.contains(name)) check_of_base(file, name, model, (folder / kWeights).string());
  for (const auto& [target, values] : both) nn::assign(target, to_device(values, target.device()));
}

void write_adapter(const fs::path& folder, const nn::Decoder& model, const LoraOptions& options,
                   const std::string& base) {
  const std::vector<NamedTensor> tensors = adapter_tensors(model);
  const Json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", base},
                    {"r", options.rank},
                    {"lora_alpha", options.alpha},
                    {"lora_dropout", options.dropout},
                    {"use_rslora", options.rank_stabilised},
                    {"target_modules", options.targets == std::vector<std::string>{"all-linear"}
                                           ? Json("all-linear")
                                           : Json(options.targets)},
                    {"bias", "none"},
                    {"fan_in_fan_out", model.config().like_gpt2},
                    {"inference_mode", true}};
  make_folder(folder, "adapter", [&](const fs::path& fresh) {
    formats::write_safetensors(fresh / kWeights, tensors, {{"format", "pt"}});
    data::write_atomically(fresh / kConfig, config.dump(2) + "\n");
  });
}

}  // namespace plimsoll::published
