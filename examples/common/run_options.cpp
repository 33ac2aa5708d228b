#include "examples/common/run_options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <sstream>
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
    check<UsageError>(!options.run.empty(),
                      "--resume: it names no run, and there is no --run. Name its folder.");
    options.resume_from = options.run;
    return;
  }
  const fs::path from = options.resume_from;
  std::error_code none;
  check<UsageError>(fs::exists(from, none), "--resume: there is no such run: ", from.string(),
                    ". Name the folder of one, or a file that it saved.");
  if (options.run.empty() && fs::is_directory(from, none)) options.run = options.resume_from;
}

// All options that have a value. CLI11 writes the others as "", which is none of theirs.
std::string config_of(const CLI::App& app) {
  std::istringstream all(app.config_to_str(/*default_also=*/true, /*write_description=*/false));
  std::string config;
  for (std::string line; std::getline(all, line);)
    if (!line.ends_with("=\"\"")) config += line + '\n';
  return config;
}

// CLI11's reader, for files that may hold anything. It takes each dot in a name for one more level,
// and keeps them all at each level: n dots are n * n names. Options have none.
class ConfigFile : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    constexpr size_t kMost = size_t{1} << 20;
    std::string text;
    char part[4096];
    while (text.size() <= kMost && (input.read(part, sizeof part), input.gcount() > 0))
      text.append(part, static_cast<size_t>(input.gcount()));
    check<UsageError>(text.size() <= kMost, "--config: the file is too large: more than ", kMost,
                      " bytes. --print-config prints one.");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CLI::detail::trim(line);  // and then as it looks for names
      if (line.starts_with('#') || line.starts_with(';')) continue;
      const bool section = line.starts_with('[') && line.ends_with(']');
      const char end = line.find('=') != line.npos ? '=' : '#';
      const std::string name = section ? line : line.substr(0, line.find(end));
      check<UsageError>(name.find('.') == name.npos, "--config: there is no such option: ",
                        data::shown(CLI::detail::trim_copy(name)), ". --print-config lists them.");
    }
    std::istringstream all(text);
    return CLI::ConfigTOML::from_config(all);
  }
};

// The config of the run that is resumed, where it has one.
std::string config_of_resumed(const Options& options) {
  if (!options.resume) return "";
  std::error_code none;
  const fs::path from = fs::absolute(options.resume_from, none);
  const bool is_run = fs::is_directory(from, none);
  if (!is_run && from.parent_path().filename() != "saves") return "";  // a file of no run
  const fs::path run = is_run ? from : from.parent_path().parent_path();
  const fs::path config = train::RunFolder::config_of(run);
  return fs::exists(config, none) ? config.string() : "";
}

// What a config has for an option; "" where it has nothing.
std::string value_in(const std::string& config, const std::string& option) {
  if (config.empty()) return "";
  for (const CLI::ConfigItem& item : ConfigFile().from_file(config))
    if (item.name == option && !item.inputs.empty()) return item.inputs.front();
  return "";
}

// --weights as they were given, before the run's config is read. A command that is repeated until
// training is over names those that the run began with: they are read no more.
void check_weights(const Options& options, const std::string& run_config) {
  if (options.weights.empty() || !goes_on(options)) return;
  check<UsageError>(options.weights == value_in(run_config, "weights"),
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

bool goes_on(const Options& options) {
  if (!options.resume) return false;
  std::error_code none;
  const fs::path from = options.resume_from;
  if (!fs::is_directory(from, none)) return fs::exists(from, none);
  return !train::list_saves(train::RunFolder::saves_of(from)).empty();
}

void add_run_options(CLI::App& app, Options& options) {
  app.add_option("--run", options.run, "Folder for the config, the log and the saves of this run")
      ->check(not_empty())
      ->configurable(false);
  app.add_option("--resume", options.resume_from,
                 "Go on with a run: its folder, or one of its files; without a value: --run")
      ->expected(0, 1)
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
  app.config_formatter(std::make_shared<ConfigFile>());
  app.set_config("--config", "",
                 "Read options from a TOML file: as on the command line, no dashes")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // the last one counts most
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_flag("--print-config", options.print_config, "Print all options as such a file and stop")
      ->configurable(false);
}

bool parse_command_line(CLI::App& app, int argc, char** argv, Options& options) {
  // `run_config`: a config that counts less than everything else.
  const auto parse = [&](const std::string& run_config) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!run_config.empty()) words.insert(words.begin(), "--config=" + run_config);
    std::ranges::reverse(words);  // as CLI11 wants them
    try {
      app.parse(std::move(words));
    } catch (const CLI::ConfigError& e) {
      const std::string text = e.what(), unknown = "INI was not able to parse ";
      if (!text.starts_with(unknown)) throw;
      fail<UsageError>("--config: there is no such option: ", text.substr(unknown.size()),
                       ". --print-config lists them.");
    }
  };
  app.name(argv[0]);
  parse("");
  const CLI::Option* const resume = app.get_option_no_throw("--resume");
  if (!resume) return true;  // a program without runs
  options.resume = resume->count() > 0;
  resolve_resume(options);
  const std::string config = config_of_resumed(options);
  check_weights(options, config);
  check_export(options, {argv + 1, argv + argc});
  if (!config.empty()) {
    const Options resolved = options;
    parse(config);
    options.resume = true;
    options.run = resolved.run;
    options.resume_from = resolved.resume_from;
  }
  options.config = config_of(app);
  if (options.print_config) std::printf("%s", options.config.c_str());
  return !options.print_config;
}

}  // namespace plimsoll::examples
