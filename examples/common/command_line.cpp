#include "examples/common/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "core/base/error.h"
#include "data/file.h"

namespace plimsoll::examples {
namespace {

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
    plimsoll::check<UsageError>(text.size() <= kMost, "--config: the file is too large: more than ",
                                kMost, " bytes. --print-config prints one.");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CLI::detail::trim(line);  // and then as it looks for names
      if (line.starts_with('#') || line.starts_with(';')) continue;
      const bool section = line.starts_with('[') && line.ends_with(']');
      const char end = line.find('=') != line.npos ? '=' : '#';
      const std::string name = section ? line : line.substr(0, line.find(end));
      plimsoll::check<UsageError>(
          name.find('.') == name.npos,
          "--config: there is no such option: ", data::shown(CLI::detail::trim_copy(name)),
          ". --print-config lists them.");
    }
    std::istringstream all(text);
    return CLI::ConfigTOML::from_config(all);
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
    : app_(std::make_unique<CLI::App>(description)) {}

CommandLine::~CommandLine() = default;

Option* CommandLine::keep(const std::string& name, CLI::Option* option) {
  return &options_.emplace(name, Option(option)).first->second;
}

Option* CommandLine::add_flag(const std::string& name, bool& value,
                              const std::string& description) {
  return keep(name, app_->add_flag(name, value, description));
}

void CommandLine::add_config_option() {
  app_->config_formatter(std::make_shared<ConfigFile>());
  app_->set_config("--config", "",
                   "Read options from a TOML file: as on the command line, no dashes")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // the last one counts most
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
    if (words[i].starts_with("--") && words[i].ends_with('=')) {
      words[i].pop_back();
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
    }
  if (!config.empty()) words.insert(words.begin(), "--config=" + config);
  std::ranges::reverse(words);  // as CLI11 wants them
  app_->name(argv[0]);
  try {
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    const std::string text = e.what(), unknown = "INI was not able to parse ";
    if (dynamic_cast<const CLI::ConfigError*>(&e) && text.starts_with(unknown))
      fail<UsageError>("--config: there is no such option: ", text.substr(unknown.size()),
                       ". --print-config lists them.");
    std::ostringstream said;
    const int code = app_->exit(e, said, said);
    if (dynamic_cast<const CLI::ExtrasError*>(&e))
      for (const std::string& word : app_->remaining())
        if (word.starts_with("--")) throw Exit{2, unknown_option(word) + "\n"};
    throw Exit{code == 0 ? 0 : 2, said.str()};
  }
}

size_t CommandLine::count(const std::string& name) const { return app_->count(name); }

std::string CommandLine::config() const {
  std::istringstream all(app_->config_to_str(/*default_also=*/true, /*write_description=*/false));
  std::string config;
  for (std::string line; std::getline(all, line);)
    if (!line.ends_with("=\"\"")) config += line + '\n';  // CLI11 writes those without a value so
  return config;
}

std::string value_in_config(const std::string& file, const std::string& option) {
  for (const CLI::ConfigItem& item : ConfigFile().from_file(file))
    if (item.name == option && !item.inputs.empty()) return item.inputs.front();
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
