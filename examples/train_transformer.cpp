// Trains a transformer on text.
//
//   train_transformer                                     a small GPT on the project's own sources
//   train_transformer --model gpt --data text:input.txt   nanoGPT's recipe for a CPU
//   train_transformer --model textcls                     which part of the text is this from?
//   train_transformer --model gpt2-124M --data tokens:input.tokens --weights model.safetensors
#include "examples/common/rank_options.h"
#include "examples/common/recipe.h"
#include "examples/common/report.h"
#include "examples/common/run_options.h"
#include "examples/common/text_data.h"
#include "examples/models/weights.h"
#include "train/trainer.h"

namespace plimsoll::examples {
namespace {

void train_on_text(TextOptions& options) {
  const ReportFile report(options.json);
  const Device device = open_device(options.device);
  train::prepare(*default_pool(device), options);

  const TextTask task = naming_data(options, [&] { return text_task(options); });
  const Weights weights(options, task.layout);
  if (is_gpt(options)) options.objective = train::language_model();
  options.clip_norm = 1;
  options.schedule = schedule_of(options, options.steps);
  options.same = {{"model", options.model},
                  {"optimizer", options.optimizer},
                  {"context", cat(task.context)},
                  {"heads", options.model == "gpt" ? cat(options.gpt.heads) : "the model's own"}};
  options.noted = noted_of(options);
  options.noted.emplace_back("dropout", cat(options.gpt.dropout));
  refuse_impossible_budget(options, task.make, task.training, task.validation);
  nn::Initializer init{.seed = options.seed, .placement = {.device = device}};
  const auto model = task.make(init);
  weights.read(*model);
  const Recipe recipe(*model, options);
  train::Trainer trainer(*model, recipe.optimizer(), task.training, task.validation, options);
  const train::Result result = trainer.run();
  if (options.plan_only) return report.write(planned_figures(options, result));
  if (!result.over && !options.evaluate_only) return;
  report.write(figures(options, "step", options.accumulate, result));
  weights.write(*model);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  TextOptions options;
  options.batch = 12;
  options.learning_rate = 1e-3;
  options.optimizer = "adamw";
  options.beta2 = 0.99;
  options.weight_decay = 0.1;
  options.steps = 2000;
  options.evaluate_every = 250;
  CommandLine app{"Trains a transformer on text and says what memory it takes."};
  add_options(app, options, text_model_names());
  add_recipe_options(app, options);
  add_memory_options(app, options);
  add_run_options(app, options);
  add_rank_options(app, options);
  add_weight_options(app, options);
  app.group("Data and model");
  app.add_option("--steps", options.steps, "Training steps")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--eval-every", options.evaluate_every, "Steps between evaluations")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  add_text_options(app, options);
  return run_example(app, argc, argv, options, [&] { train_on_text(options); });
}
