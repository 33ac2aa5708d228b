#include "examples/common/run_options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string_view>

#include "data/file.h"
#include "train/run_folder.h"
#include "train/saves.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

// What --resume means, once both options are known.
void resolve_resume(Options& options) {
  if (!options.resume) return;
  if (options.resume_from.empty()) {
    check<UsageError>(!options.run.empty(), options.evaluate_only ? "--evaluate" : "--resume",
                      ": it names no run, and there is no --run. Name its folder.");
    options.resume_from = options.run;
    return;
  }
  const fs::path from = train::file_named(options.resume_from);
  options.resume_from = from.string();
  std::error_code none;
  check<UsageError>(fs::exists(from, none), "--resume: there is no such run: ", from.string(),
                    ". Name the folder of one, or a file that it saved.");
  check<UsageError>(
      !fs::is_directory(from, none) || !train::list_saves(train::RunFolder::saves_of(from)).empty(),
      "--resume: nothing is saved in this folder: ", from.string(), ". Begin anew with --run.");
  if (options.run.empty() && fs::is_directory(from, none)) options.run = options.resume_from;
}

// The config of the run that is resumed, where it has one.
std::string config_of_resumed(const Options& options) {
  if (!options.resume) return "";
  std::error_code none;
  const fs::path from = fs::absolute(options.resume_from, none);
  const bool is_run = fs::is_directory(from, none);
  const fs::path saves = train::named_part(from).parent_path();
  if (!is_run && saves.filename() != "saves") return "";  // a file of no run
  const fs::path run = is_run ? from : saves.parent_path();
  const fs::path config = train::RunFolder::config_of(run);
  if (fs::exists(config, none)) return config.string();
  if (goes_on(options))
    std::fprintf(stderr,
                 "--resume: this run has lost its config: there is no %s. It goes on with the "
                 "options given here.\n",
                 config.c_str());
  return "";
}

// --weights as they were given, before the run's config is read. A command that is repeated until
// training is over names those that the run began with: they are read no more.
void check_weights(const Options& options, const std::string& run_config) {
  if (options.weights.empty() || !goes_on(options)) return;
  check<UsageError>(
      !run_config.empty() && options.weights == value_in_config(run_config, "weights"),
      "--weights: training goes on from ", options.resume_from,
      ", which did not begin with these: ", options.weights, ". Leave it out.");
}

// A config may have it, for the training that is planned.
void check_export(const Options& options, std::span<char* const> words) {
  const bool named = std::ranges::any_of(words, [](std::string_view word) {
    return word == "--export" || word.starts_with("--export=");
  });
  check<UsageError>(!options.plan_only || !named,
                    "--export: --plan-only trains no weights to write: ", options.exported,
                    ". Leave one of them out.");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> noted_of(const Options& options) {
  return {{"lr", cat(options.learning_rate)},
          {"weight-decay", cat(options.weight_decay)},
          {"schedule", options.schedule_name},
          {"warmup", options.warmup < 0 ? "the length's" : cat(options.warmup)},
          {"precision", options.precision_name},
          {options.epochs > 0 ? "epochs" : "steps",
           cat(options.epochs > 0 ? options.epochs : options.steps)}};
}

bool goes_on(const Options& options) {
  if (!options.resume) return false;
  std::error_code none;
  const fs::path from = options.resume_from;
  if (!fs::is_directory(from, none)) return fs::exists(from, none);
  return !train::list_saves(train::RunFolder::saves_of(from)).empty();
}

void add_run_options(CommandLine& app, Options& options) {
  app.group("Run");
  app.add_option("--run", options.run, "Folder for the config, the log and the saves of this run")
      ->check(not_empty())
      ->configurable(false);
  app.add_option("--resume", options.resume_from,
                 "Go on with a run: its folder, or one of its files; without a value: --run")
      ->expected(0, 1)
      ->configurable(false);
  app.add_flag("--evaluate", options.evaluate_only,
               "Evaluate what --resume or --run names, newest or that file, and stop")
      ->configurable(false);
  app.add_option("--save-every", options.save_every,
                 "Batches between saves; 0: a save at each evaluation, which there is anyway")
      ->check(whole_number(0, kMany))
      ->capture_default_str();
  app.add_option("--keep", options.keep, "Saves to keep: the newest, and the best besides")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--patience", options.patience,
                 "Evaluations in a row without a lower loss that end the training; 0: none do")
      ->check(whole_number(0, kMany))
      ->capture_default_str();
  app.add_option("--stop-after", options.stop_after,
                 "Batches after which this process saves and ends, to be resumed; 0: it goes on")
      ->check(whole_number(0, kMany))
      ->configurable(false);
  app.add_option("--log-every", options.log_every,
                 "Batches between rows of the log; 0: a row at each evaluation")
      ->check(whole_number(0, kMany))
      ->capture_default_str();
  app.add_config_option();
  app.add_flag("--print-config", options.print_config, "Print all options as such a file and stop")
      ->configurable(false);
}

bool parse_command_line(CommandLine& app, int argc, char** argv, Options& options) {
  app.parse(argc, argv);
  if (!app.has("--resume")) return true;  // a program without runs
  options.resume = app.count("--resume") > 0 || options.evaluate_only;
  resolve_resume(options);
  const std::string config = config_of_resumed(options);
  check_weights(options, config);
  check_export(options, {argv + 1, argv + argc});
  if (!config.empty()) {
    const Options resolved = options;
    app.parse(argc, argv, config);
    options.resume = true;
    options.run = resolved.run;
    options.resume_from = resolved.resume_from;
  }
  options.config = app.config();
  if (options.print_config) std::printf("%s", options.config.c_str());
  return !options.print_config;
}

}  // namespace plimsoll::examples
