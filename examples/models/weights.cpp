#include "examples/models/weights.h"

#include "data/atomic_file.h"
#include "data/output_file.h"
#include "examples/common/run_options.h"
#include "formats/safetensors.h"
#include "train/state.h"

namespace plimsoll::examples {
namespace {

constexpr std::string_view kPrefix = "transformer.";

// Which positions may see which: constants of GPT-2's attention in files of transformers 4.
bool is_mask(const std::string& name) {
  return name.starts_with("h.") &&
         (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

}  // namespace

void add_weight_options(CommandLine& app, Options& options) {
  app.add_option("--weights", options.weights,
                 "Begin with the weights of this safetensors file, named as PyTorch's")
      ->check(not_empty());
  app.add_option("--export", options.exported,
                 "Write such a file of the weights when training is over")
      ->check(not_empty());
}

Weights::Weights(const Options& options, nn::TorchLayout layout)
    : from_(goes_on(options) ? std::string() : options.weights),
      to_(options.plan_only ? std::string() : options.exported),
      layout_(std::move(layout)) {
  if (!to_.empty()) const data::OutputFile tried("--export", to_);
}

void Weights::read(const nn::Module& model) const {
  if (from_.empty()) return;
  const auto fail_naming = [&](const Error& e) {
    fail<DataError>("--weights ", from_, ": ", e.what());
  };
  try {
    std::vector<NamedTensor> state;
    const formats::Safetensors file(from_);
    check<UsageError>(
        !train::is_state(file), "--weights ", from_, ": this is a save of a run, not ",
        "weights that --export has written. Name its folder with --run for predict and "
        "generate, and with --resume to train on.");
    for (const std::string& name : file.names()) {
      const std::string bare = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
      if (!is_mask(bare)) state.push_back({bare, file.tensor(name)});
    }
    nn::load_torch_state(model, state, layout_);
  } catch (const DataError& e) {  // of the file
    fail_naming(e);
  } catch (const ValueError& e) {  // of what is in it
    fail_naming(e);
  }
}

void Weights::write(const nn::Module& model) const {
  if (to_.empty()) return;
  data::write_atomically(to_, [&](const std::filesystem::path& file) {
    formats::write_safetensors(file, nn::torch_state(model, layout_), {{"format", "pt"}});
  });
}

}  // namespace plimsoll::examples
