// Fine-tunes a published model on conversations, by adapters over its frozen weights or as a whole.
//
//   finetune --model models/SmolLM-135M --data chat.jsonl --lora 16 --run runs/a --budget 3GiB
//   finetune --resume runs/a                               goes on, in another process
//   generate --model models/SmolLM-135M --adapter runs/a/adapter --prompt "..."
//
// At its end the run's folder has adapter/, in PEFT's form, or without --lora model/, as Hugging
// Face has it.
#include "data/atomic_file.h"
#include "data/file.h"
#include "data/text/bpe_files.h"
#include "data/text/chat_templates.h"
#include "examples/common/chat_data.h"
#include "examples/common/recipe.h"
#include "examples/common/report.h"
#include "examples/common/run_options.h"
#include "examples/models/tuning.h"
#include "formats/shards.h"
#include "nn/decoder/packed.h"
#include "nn/published/adapter.h"
#include "nn/published/export.h"
#include "train/trainer.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

struct TuneOptions : Options {
  Tuning tuning;
  std::string chat_template;  // empty: the tokenizer's own
  int64_t context = 0;        // 0: that of the longest conversation
};

data::ChatTemplate template_of(const TuneOptions& options) {
  if (!options.chat_template.empty()) return data::template_named(options.chat_template);
  const fs::path folder = options.model, file = folder / "tokenizer_config.json";
  const fs::path jinja = folder / "chat_template.jinja";
  return data::find_template(data::read_text(file), file.string(),
                             fs::exists(jinja) ? data::read_text(jinja) : "");
}

ChatData read_chat(const TuneOptions& options) {
  const data::BytePairEncoding bpe = data::load_tokenizer(options.model);
  const nn::DecoderConfig& config = options.tuning.config->decoder;
  check<DataError>(bpe.size() <= config.vocabulary, "--model ", options.model,
                   ": its tokenizer has ", bpe.size(), " tokens, and it knows ", config.vocabulary,
                   ". Use files that belong together.");
  check<UsageError>(options.context <= config.context, "--context: the model has ", config.context,
                    " positions: ", options.context, ". Use at most as many.");
  return {data::read_conversations(options.data),
          template_of(options),
          bpe,
          {.context = options.context,
           .most = config.context,
           .file = options.data,
           .device = device_named(options.device)}};
}

// What the folder is called that the trained weights go to.
fs::path result_of(const TuneOptions& options) {
  return fs::path(options.run) / (options.tuning.rank > 0 ? "adapter" : "model");
}

void write_result(const TuneOptions& options, const nn::Decoder& model,
                  const nn::DecoderOptions& made) {
  if (options.run.empty()) return;
  const fs::path folder = result_of(options), unfinished = fs::path(folder) += ".unfinished";
  std::error_code none;
  fs::remove_all(unfinished, none);  // what killed processes left: the folder, and make_folder()'s
  data::remove_unfinished(folder.parent_path(), unfinished.filename().string() + ".");
  if (made.lora)
    published::write_adapter(unfinished, model, *made.lora, options.model);
  else
    published::write_model(unfinished, model, options.model);
  fs::remove_all(folder, none);  // of the same run, trained for shorter
  std::error_code error;
  fs::rename(unfinished, folder, error);
  check<DataError>(!error, "finetune: the result cannot be renamed: ", unfinished.string(), " (",
                   error.message(), "). It is whole there: move it yourself.");
  data::synchronise_folder(folder.parent_path(), "finetune");
  std::printf("written: %s\n", folder.c_str());
}

void tune(TuneOptions& options) {
  check<UsageError>(!options.model.empty(),
                    "--model: there is no model. Name the folder of a published one.");
  std::error_code none;
  check<UsageError>(options.run.empty() || !fs::equivalent(options.model, result_of(options), none),
                    "--run: its result would replace the model that is trained: ", options.model,
                    ". Choose another folder.");
  const ReportFile report(options.json);
  const Device device = open_device(options.device);
  PooledAllocator& pool = *default_pool(device);
  train::prepare(pool, options);
  options.tuning.config = published::read_config(options.model);
  const ChatData chat = read_chat(options);

  nn::Initializer init{.seed = options.seed, .placement = {.device = device}};
  nn::DecoderOptions made = decoder_options(options.tuning, chat.context());
  made.checkpoint = options.checkpoint;
  const int64_t before = pool.stats().in_use;
  nn::Packed packed(as_usage("--lora", [&] { return published::load(options.model, init, made); }));
  const nn::Decoder& model = packed.decoder();
  const int64_t mapped = model.bytes() - (pool.stats().in_use - before);  // not in the pool
  const Recipe recipe(packed, options);
  train::Batches training = chat.training(options.batch, options.seed);
  const int64_t each = training.count;  // batches of an epoch
  options.objective = {
      .loss = [&](const Tensor& y, const Tensor& labels) { return model.loss(y, labels); },
      .perplexity = true};
  options.name = options.model;
  options.clip_norm = 1;
  options.schedule = schedule_of(options, train::updates_of(options, training));
  const std::string weights = formats::Shards(options.model).beginnings();
  options.same = {{"model", options.tuning.config->decoder.architecture},
                  {"optimizer", options.optimizer},
                  {"context", cat(chat.context())},
                  {"weights", train::fingerprint(std::as_bytes(std::span(weights)))}};
  for (auto& fact : facts_of(options.tuning)) options.same.push_back(std::move(fact));
  options.noted = noted_of(options);
  train::Trainer trainer(packed, recipe.optimizer(), std::move(training),
                         chat.held_out(options.batch), options);
  const train::Result result = trainer.run();
  if (options.plan_only) return report.write(planned_figures(options, result));
  if (!result.over && !options.evaluate_only) return;
  if (!options.evaluate_only) write_result(options, model, made);
  Json json = figures(options, "epoch", each, result);
  json["final"]["mapped_bytes"] = mapped;
  report.write(json);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  TuneOptions options;
  options.batch = 4;
  options.epochs = 1;
  options.learning_rate = 2e-4;
  options.optimizer = "adamw";
  options.data = "chat.jsonl";
  CommandLine app{"Fine-tunes a published model on conversations and says what memory it takes."};
  add_options(app, options, {});
  add_recipe_options(app, options);
  add_memory_options(app, options);
  add_run_options(app, options);
  add_tuning_options(app, options.tuning);
  app.group("Data");
  app.add_option("--data", options.data, "JSON lines with conversations: {\"messages\": [...]}")
      ->capture_default_str();
  app.add_option(
      "--template", options.chat_template,
      "How they become a text [the tokenizer's own]: " + plimsoll::data::template_names());
  app.add_option("--context", options.context,
                 "Tokens of a row; 0: as many as the longest conversation has")
      ->check(whole_number(0, kMany))
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "Times through the conversations")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  return run_example(app, argc, argv, options, [&] { tune(options); });
}
