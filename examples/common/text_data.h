// Where train_transformer's model and batches come from: windows of tokens for the GPTs, passages
// for the classifier, or one synthetic batch.
//
//   const TextTask task = text_task(options);
//   const auto model = task.make(init);
//   train::Trainer trainer(*model, groups, task.training, task.validation, options);
#pragma once

#include "data/text/tokens.h"
#include "examples/common/options.h"
#include "examples/models/transformer_models.h"
#include "train/batches.h"

namespace plimsoll::examples {

struct TextOptions : Options {
  int64_t context = 0;  // 0: the model's own
  GptSize gpt;
};

// --data, --context, and the size of gpt.
void add_text_options(CommandLine& app, TextOptions& options);

struct TextTask {
  std::function<std::unique_ptr<Staged>(nn::Initializer&)> make;  // the model
  train::Batches training, validation;
  int64_t context;
  nn::TorchLayout layout = {};  // of its weights in files
};

// What a run tells one text from another by: the size of the part to train on, of how many
// different tokens it is, and under the name kTokens a fingerprint of all of both parts.
constexpr const char* kTokens = "tokens";
train::Identity identity_of(const data::Tokens& train, const data::Tokens& validation,
                            int64_t vocabulary);

bool is_gpt(const TextOptions& options);

// UsageError for options that do not go together, DataError for text that is too short or of
// another vocabulary.
TextTask text_task(const TextOptions& options);

}  // namespace plimsoll::examples
