// A published model as it is fine-tuned: which of its weights are trained, and in what type the
// others stay. For finetune and fit.
//
//   Tuning tuning;
//   add_tuning_options(app, tuning);
//   const auto model = published::load(folder, init, decoder_options(tuning, context));
#pragma once

#include "examples/common/command_line.h"
#include "nn/published/model.h"

namespace plimsoll::examples {

struct Tuning {
  std::optional<published::Config> config;  // of the model; none: it is another
  int64_t rank = 0;                         // of adapters; 0: all weights are trained
  double alpha = 0;                         // 0: twice the rank
  double dropout = 0;
  bool rank_stabilised = false;
  std::vector<std::string> targets{"all-linear"};
  std::string base = "file";  // type of frozen weights: file, f32, int8, nf4

  // Of frozen weights, and of trained ones before they are f32.
  DType base_type() const;
};

// int8 or nf4; nothing for another name.
std::optional<Quantisation> quantisation_named(const std::string& name);

// --lora, --lora-alpha, --lora-dropout, --lora-stabilised, --lora-targets and --base.
void add_tuning_options(CommandLine& app, Tuning& tuning);

// What a run must go on with, as pairs of a name and a value: how adapters are made.
std::vector<std::pair<std::string, std::string>> facts_of(const Tuning& tuning);

// For training: the loss is made without logits. UsageError: one of the others without --lora.
nn::DecoderOptions decoder_options(const Tuning& tuning, int64_t context);

// What `make` returns. What does not fit the model is of the command line: a ValueError becomes a
// UsageError with the option in front.
template <class Make>
auto as_usage(const char* option, const Make& make) {
  try {
    return make();
  } catch (const ValueError& e) {
    fail<UsageError>(option, ": ", e.what());
  }
}

}  // namespace plimsoll::examples
