#include "examples/common/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"
#include "data/file.h"
#include "examples/common/config_file.h"

namespace plimsoll::examples {
namespace {

// The settings of all --config files, read before the parser sees the command line.
class Config : public CLI::Config {
 public:
  std::vector<Setting> settings;  // each name once

  // Of several files the last one counts most.
  void add(std::vector<Setting> more) {
    for (Setting& setting : settings)
      if (std::ranges::find(more, setting.name, &Setting::name) == more.end())
        more.push_back(std::move(setting));
    settings = std::move(more);
  }
  std::string place_of(const std::string& name) const {
    const auto found = std::ranges::find(settings, name, &Setting::name);
    return found == settings.end() ? "" : found->place;
  }

  std::vector<CLI::ConfigItem> from_config(std::istream&) const override {
    std::vector<CLI::ConfigItem> items(settings.size());
    for (size_t i = 0; i < items.size(); ++i) {
      items[i].name = settings[i].name;
      items[i].inputs = settings[i].values;
    }
    return items;
  }
  std::string to_config(const CLI::App* app, bool, bool, std::string) const override {
    std::string text;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_configurable()) continue;
      std::vector<std::string> values = option->reduced_results();
      if (values.empty() && !option->get_default_str().empty())
        values = {option->get_default_str()};
      if (values.empty() && option->get_expected_min() == 0) values = {"false"};
      if (values.empty() || values == std::vector<std::string>{""}) continue;
      std::string all;
      for (const std::string& value : values) all += (all.empty() ? "" : ", ") + to_toml(value);
      text += option->get_single_name() + '=' + (values.size() > 1 ? '[' + all + ']' : all) + '\n';
    }
    return text;
  }
};

// How many letters are to be left out, put in, replaced or swapped with the next.
size_t changes(const std::string& from, const std::string& to) {
  std::vector<std::vector<size_t>> of(from.size() + 1, std::vector<size_t>(to.size() + 1));
  for (size_t i = 0; i <= from.size(); ++i)
    for (size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        of[i][j] = i + j;
        continue;
      }
      of[i][j] = std::min({of[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1), of[i - 1][j] + 1,
                           of[i][j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
    }
  return of.back().back();
}

// Takes the names of config files out of the words.
std::vector<std::string> take_configs(std::vector<std::string>& words) {
  std::vector<std::string> files, others;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--config" && i + 1 < words.size())
      files.push_back(words[++i]);
    else if (words[i].starts_with("--config="))
      files.push_back(words[i].substr(9));
    else
      others.push_back(words[i]);
  }
  words = std::move(others);
  return files;
}

}  // namespace

int Exit::print() const {
  std::fputs(text.c_str(), code == 0 ? stdout : stderr);
  return code;
}

Option* Option::check(Check check) {
  option_->check(CLI::Validator(std::move(check.fault), std::move(check.shown)));
  return this;
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::delimiter(char between) {
  option_->delimiter(between);
  return this;
}

Option* Option::expected(int number) {
  option_->expected(number);
  return this;
}

Option* Option::expected(int least, int most) {
  option_->expected(least, most);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::default_str(const std::string& text) {
  option_->default_str(text);
  return this;
}

Option* Option::configurable(bool in_config) {
  option_->configurable(in_config);
  return this;
}

CommandLine::CommandLine(const std::string& description)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION, "Print the version and stop");
}

CommandLine::~CommandLine() = default;

Option* CommandLine::keep(const std::string& name, CLI::Option* option) {
  option->group(group_);
  return &options_.emplace(name, Option(option)).first->second;
}

Option* CommandLine::add_flag(const std::string& name, bool& value,
                              const std::string& description) {
  return keep(name, app_->add_flag(name, value, description));
}

void CommandLine::add_config_option() {
  app_->config_formatter(std::make_shared<Config>());
  app_->set_config("--config", "",
                   "Read options from a TOML file: as on the command line, no dashes")
      ->group(group_);
  app_->allow_config_extras(CLI::config_extras_mode::error);
}

void CommandLine::parse_complete_callback(std::function<void()> f) {
  app_->parse_complete_callback(std::move(f));
}

std::string CommandLine::unknown_option(const std::string& word) const {
  const std::string written = word.substr(0, word.find('='));
  std::string nearest;
  std::pair<size_t, size_t> least{3, 0};  // with more changes it is another word
  for (const auto& [name, option] : options_) {
    const size_t longer = std::max(name.size(), written.size());
    const std::pair distance{changes(written, name),
                             longer - std::min(name.size(), written.size())};
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return cat(written, ": there is no such option. ",
             nearest.empty() ? std::string("--help lists those that there are.")
                             : cat("Did you mean ", nearest, "?"));
}

void CommandLine::parse(int argc, char** argv, const std::string& config) {
  std::vector<std::string> words(argv + 1, argv + argc);
  // CLI11 would take the next word for the value of "--prompt=".
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].starts_with("--") && words[i].find('=') + 1 == words[i].size()) {
      words[i].pop_back();
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
    }
  const auto configs = std::dynamic_pointer_cast<Config>(app_->get_config_formatter());
  if (configs) {
    configs->settings.clear();
    std::vector<std::string> files = take_configs(words);
    if (!config.empty()) files.insert(files.begin(), config);
    for (const std::string& file : files) configs->add(read_config(file));
    // A file that is there, so that the parser asks for what is known already.
    if (!files.empty()) words.push_back("--config=/dev/null");
  }
  std::ranges::reverse(words);  // as CLI11 wants them
  app_->name(argv[0]);
  try {
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    const std::string text = e.what();
    if (dynamic_cast<const CLI::ConfigError*>(&e)) refuse_setting(configs->settings);
    std::ostringstream said;
    const int code = app_->exit(e, said, said);
    if (code == 0) throw Exit{0, said.str()};
    if (dynamic_cast<const CLI::ExtrasError*>(&e))
      for (const std::string& word : app_->remaining())
        if (word.starts_with("--")) throw Exit{2, unknown_option(word) + "\n"};
    // "--lr: not a number above 0: fast"
    const std::string name = text.starts_with("--") ? text.substr(2, text.find(':') - 2) : "";
    const std::string place = configs ? configs->place_of(name) : "";
    const bool typed = std::any_of(argv + 1, argv + argc, [&](const std::string& word) {
      return word == "--" + name || word.starts_with("--" + name + '=');
    });
    if (!place.empty() && !typed) throw Exit{2, cat("--config ", place, ": ", text, '\n')};
    throw Exit{2, said.str()};
  }
}

// Which of them no config can hold.
void CommandLine::refuse_setting(const std::vector<Setting>& settings) const {
  for (const auto& [name, values, place] : settings) {
    const CLI::Option* const option = app_->get_option_no_throw("--" + name);
    check<UsageError>(option, "--config ", place, ": there is no such option: ", data::shown(name),
                      ". --print-config lists them.");
    check<UsageError>(option->get_configurable(), "--config ", place, ": no config may hold ", name,
                      ". Give it on the command line.");
  }
}

size_t CommandLine::count(const std::string& name) const { return app_->count(name); }

std::string CommandLine::config() const { return app_->config_to_str(/*default_also=*/true); }

std::string value_in_config(const std::string& file, const std::string& option) {
  for (const Setting& setting : read_config(file))
    if (setting.name == option && !setting.values.empty()) return setting.values.front();
  return "";
}

template <class T>
Option* CommandLine::add_option(const std::string& name, T& value, const std::string& description) {
  return keep(name, app_->add_option(name, value, description));
}

#define PLIMSOLL_OPTION_OF(...)                                                           \
  template Option* CommandLine::add_option<__VA_ARGS__>(const std::string&, __VA_ARGS__&, \
                                                        const std::string&);
PLIMSOLL_OPTION_OF(std::string)
PLIMSOLL_OPTION_OF(int)
PLIMSOLL_OPTION_OF(int64_t)
PLIMSOLL_OPTION_OF(uint64_t)
PLIMSOLL_OPTION_OF(double)
PLIMSOLL_OPTION_OF(std::vector<std::string>)
PLIMSOLL_OPTION_OF(std::vector<int64_t>)

}  // namespace plimsoll::examples
