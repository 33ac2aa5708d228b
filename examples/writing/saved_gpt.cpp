#include "examples/writing/saved_gpt.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/engine/transfer.h"
#include "data/source.h"
#include "data/text/bpe_files.h"
#include "examples/common/command_line.h"
#include "examples/common/text_data.h"
#include "examples/models/tuning.h"
#include "examples/models/weights.h"
#include "formats/shards.h"
#include "memory/pool/pooled_allocator.h"
#include "nn/published/adapter.h"
#include "ops/pointwise/copy/copy.h"
#include "train/run_folder.h"
#include "train/saves.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPublished = "gpt2-124M";
constexpr const char* kTable = "input.0.weight";  // of the tokens, [V, D]

// The newest file of a run that is whole.
fs::path newest_save(const fs::path& run) {
  const train::NewestSave newest = train::newest_save(train::RunFolder::saves_of(run));
  for (const train::Damaged& damaged : newest.damaged)
    std::fprintf(stderr, "%s\n", damaged.why.c_str());
  check<DataError>(newest.save.has_value(), "--run ", run.string(),
                   ": nothing is saved there that can be read. Train for longer, or name another.");
  return newest.save->file;
}

// The size of a model of train_transformer, from the shapes and names of its tensors.
GptSize size_in(const formats::Shards& file, const std::string& model) {
  GptSize size = gpt_size_named(model);
  const Shape table = file.meta(kTable).shape;
  size.vocabulary = table[0];
  size.width = table[1];
  size.context = file.meta("input.1.table").shape[0];
  for (size.layers = 0; file.has(cat("block", size.layers, ".norm1.gamma"));) ++size.layers;
  size.bias = file.has("block0.attention.qkv.bias");
  const std::string heads = formats::value_of(file.metadata(), "heads");   // no tensor shows them
  std::from_chars(heads.data(), heads.data() + heads.size(), size.heads);  // or they are its own
  return size;
}

bool is_folder(const std::string& path) {
  std::error_code none;
  return !path.empty() && fs::is_directory(path, none);
}

// What is wrong with a file, with the option in front.
template <class F>
auto naming(const char* option, const std::string& value, const F& f) {
  try {
    return f();
  } catch (const DataError& e) {
    fail<DataError>(option, " ", value, ": ", e.what());
  } catch (const ValueError& e) {
    fail<DataError>(option, " ", value, ": ", e.what());
  }
}

}  // namespace

SavedGpt::SavedGpt(const GptSource& source) {
  check<UsageError>(!source.run.empty() || !source.model.empty(),
                    "--run: there is no model to write with. Name a run, or use --model with a "
                    "published folder, or ",
                    kPublished, " with --weights and --tokenizer.");
  check<UsageError>(source.adapter.empty() || is_folder(source.model),
                    "--adapter: it belongs to a model that --model names the folder of: ",
                    source.adapter, ". Name that folder, or leave it out.");
  check<UsageError>(source.base.empty() || is_folder(source.model),
                    "--base: it is of a model that --model names the folder of: ", source.base,
                    ". Name that folder, or leave it out.");
  check<UsageError>(source.run.empty() || (source.model.empty() && source.weights.empty()),
                    "--run: a run has its own model and weights: ", source.run,
                    ". Leave out --model and --weights, or --run.");
  if (!source.run.empty())
    open_run(source);
  else
    is_folder(source.model) ? open_folder(source) : open_published(source);
}

void SavedGpt::open_folder(const GptSource& source) {
  for (const auto& [option, value] :
       {std::pair("--data", source.data), {"--weights", source.weights}})
    check<UsageError>(value.empty(), option, ": --model ", source.model,
                      " is a folder with weights and a tokenizer of its own: ", value,
                      ". Leave it out.");
  weights_ = source.model;
  naming("--model", source.model, [&] { config_ = published::read_config(weights_); });
  name_ = config_->decoder.architecture;
  quantised_ = quantisation_named(source.base);
  size_.vocabulary = config_->decoder.vocabulary;
  if (!source.adapter.empty()) {
    adapter_ = source.adapter;
    naming("--adapter", source.adapter, [&] { lora_ = published::read_adapter_options(adapter_); });
  }
  open_tokenizer(source.tokenizer.empty() ? source.model : source.tokenizer);
}

void SavedGpt::open_published(const GptSource& source) {
  check<UsageError>(source.model == kPublished, "--model: there is no such folder, and it is not ",
                    kPublished, ": ", source.model, ". Name a folder with a config.json.");
  check<UsageError>(source.data.empty(), "--data: --model ", kPublished,
                    " reads tokens of its own vocabulary: ", source.data, ". Leave it out.");
  published_ = true;
  name_ = source.model;
  size_ = gpt_size_named(name_);
  weights_ = source.weights;
  open_tokenizer(source.tokenizer);
}

void SavedGpt::open_run(const GptSource& source) {
  const fs::path from = train::file_named(source.run);
  std::error_code none;
  check<UsageError>(fs::exists(from, none), "--run: there is no such run: ", source.run,
                    ". Name the folder of one, or a file that it saved.");
  const bool is_folder = fs::is_directory(from, none);
  weights_ = is_folder ? newest_save(from) : from;
  const AllocatorScope scope(unplanned_pool());
  if (!is_folder) train::check_whole(weights_);
  const formats::Shards file(weights_);
  name_ = formats::value_of(file.metadata(), "model");
  check<UsageError>((name_ == "gpt" || name_ == kPublished) && file.has(kTable), "--run ",
                    source.run, ": it trained ", name_.empty() ? "no model" : name_,
                    ", which writes no text. Name a run of gpt or ", kPublished, ".");
  size_ = size_in(file, name_);
  if (!source.tokenizer.empty()) return open_tokenizer(source.tokenizer);

  const fs::path save = train::named_part(fs::absolute(from, none));
  const fs::path folder = is_folder ? from : save.parent_path().parent_path();
  const fs::path config = train::RunFolder::config_of(folder);
  std::string data = source.data;
  if (data.empty() && fs::exists(config, none)) data = value_in_config(config.string(), "data");
  check<UsageError>(
      data == "builtin" || data.starts_with("text:"), "--run ", source.run, ": it trained on ",
      data.empty() ? "data that no config names" : data,
      ", which does not say what text a token is. Add --tokenizer, or --data with its "
      "text.");
  open_text(data, source.data.empty(), file.metadata());
}

void SavedGpt::open_tokenizer(const std::string& path) {
  check<UsageError>(!path.empty(), "--tokenizer: --model ", name_,
                    " writes tokens, and nothing says what text they are. Name its folder.");
  data::BytePairEncoding bpe = data::load_tokenizer(path);
  // Published tables may have rows that no token has.
  check<DataError>(bpe.size() == size_.vocabulary || (config_ && bpe.size() < size_.vocabulary),
                   "--tokenizer ", path, ": it has ", bpe.size(),
                   " tokens, and the model was trained with ", size_.vocabulary,
                   ". Name the one that its text was made with.");
  tokens_ = std::move(bpe);
}

void SavedGpt::open_text(const std::string& source, bool of_run,
                         const formats::Metadata& trained_on) {
  Options options;
  options.data = source;
  const data::TextDataset text = naming_data(
      options, [&] { return data::load_text(source); }, of_run);
  for (const auto& [name, now] : identity_of(text.train, text.validation, text.vocabulary.size())) {
    const std::string then = formats::value_of(trained_on, name);
    check<DataError>(now == then, "--data ", source, ": the text has changed since the training: ",
                     train::is_fingerprint(now)
                         ? std::string("it is as long as it was, and other characters stand in it")
                         : cat("its first 90 %, which are trained on, are ", now,
                               " characters, and were ", then),
                     ". Bring the old one back.");
  }
  tokens_ = text.vocabulary;
}

std::vector<int64_t> SavedGpt::encode(const std::string& text) const {
  if (const auto* bpe = std::get_if<data::BytePairEncoding>(&tokens_)) {
    std::vector<int32_t> ids = bpe->encode(text);
    ids.insert(ids.begin(), bpe->front().begin(), bpe->front().end());
    return {ids.begin(), ids.end()};
  }
  try {
    const std::vector<uint8_t> ids = std::get<data::Vocabulary>(tokens_).encode(text);
    return {ids.begin(), ids.end()};
  } catch (const ValueError& e) {
    fail<UsageError>("--prompt: ", e.what());
  }
}

std::string SavedGpt::decode(int64_t token) const {
  if (const auto* vocabulary = std::get_if<data::Vocabulary>(&tokens_))
    return vocabulary->decode(std::array{token});
  try {
    return std::get<data::BytePairEncoding>(tokens_).decode_inside(
        std::array{static_cast<int32_t>(token)});
  } catch (const IndexError&) {
    return "";  // a row that no token has
  }
}

bool SavedGpt::is_end(int64_t token) const {
  return config_ && std::ranges::find(config_->ends, token) != config_->ends.end();
}

int64_t SavedGpt::context() const { return config_ ? config_->decoder.context : size_.context; }

std::unique_ptr<nn::Module> SavedGpt::make(const Placement& placement, int64_t context) const {
  if (config_) return make_of_folder(placement, context);
  nn::Initializer init{.placement = placement, .draws = false};
  auto model = make_gpt(size_, /*checkpoint=*/false, init);
  if (placement.device != Device::null) published_ ? read_published(*model) : read_save(*model);
  return model;
}

std::unique_ptr<nn::Module> SavedGpt::make_of_folder(const Placement& placement,
                                                     int64_t context) const {
  nn::Initializer init{.placement = placement, .draws = false};
  const nn::DecoderOptions options{
      .converted = true, .quantised = quantised_, .context = context, .lora = lora_};
  const std::string folder = weights_.string();
  if (placement.device == Device::null)
    return naming("--adapter", adapter_.string(),
                  [&] { return published::plan(*config_, init, options); });
  auto model = naming("--model", folder, [&] { return published::load(weights_, init, options); });
  if (lora_)
    naming("--adapter", adapter_.string(), [&] { published::read_adapter(adapter_, *model); });
  return model;
}

void SavedGpt::read_published(const Staged& model) const {
  check<UsageError>(!weights_.empty(), "--weights: --model ", name_,
                    " has no weights of its own. Name a safetensors file of them.");
  Options options;
  options.weights = weights_.string();
  const AllocatorScope scope(unplanned_pool());
  Weights(options, gpt2_torch_layout()).read(model);
}

void SavedGpt::read_save(const Staged& model) const {
  const AllocatorScope scope(unplanned_pool());
  const formats::Shards file(weights_);
  for (const auto& [name, tensor] : model.named_parameters()) {
    const Tensor read = file.tensor(name);
    check<DataError>(read.shape() == tensor.shape(), "--run: ", weights_.string(), " has another ",
                     name, ": ", read.shape(), " instead of ", tensor.shape(),
                     ". It was saved by another model.");
    nn::assign(tensor, to_device(cast(read, tensor.dtype()), tensor.device()));
  }
}

}  // namespace plimsoll::examples
