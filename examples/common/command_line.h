// The command line of a program: its options, what they accept, --help, --version and a file of
// options.
//
//   CommandLine app{"Trains a net on images."};
//   app.add_option("--steps", steps, "Training steps")->check(whole_number(1, kMany))->required();
//   app.parse(argc, argv);
//
// CLI11 does the work. A compiler takes longer over its headers than over most programs, so only
// command_line.cpp reads them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "examples/common/checks.h"
#include "examples/common/config_file.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plimsoll::examples {

// The program ends here: its help was asked for (code 0), or the words were refused (code 2).
struct Exit {
  int code;
  std::string text;

  int print() const;  // to stdout or stderr; returns the code
};

// One option, while the command line is being described.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* check(Check check);
  Option* required();
  Option* delimiter(char between);  // of the values of a vector
  Option* expected(int number);     // of values
  Option* expected(int least, int most);
  Option* capture_default_str();  // help and config show the variable's value
  Option* default_str(const std::string& text);
  Option* configurable(bool in_config);  // whether a config may hold it

 private:
  CLI::Option* option_;
};

class CommandLine {
 public:
  explicit CommandLine(const std::string& description = "");
  ~CommandLine();

  // `value` must outlive parse(). T: see the end of command_line.cpp.
  template <class T>
  Option* add_option(const std::string& name, T& value, const std::string& description = "");
  Option* add_flag(const std::string& name, bool& value, const std::string& description = "");
  // Where --help shows the options that are added from here on.
  void group(const std::string& name) { group_ = name; }
  // --config FILE: options as TOML, which count less than those of the command line.
  void add_config_option();

  // Runs `f` when all values are known.
  void parse_complete_callback(std::function<void()> f);

  // Sets the variables. With `config`, the path of such a file, its options count least. Throws
  // Exit; UsageError, with the file and the line, for a config that cannot be read, sets a name
  // twice or one that is no option.
  void parse(int argc, char** argv, const std::string& config = "");

  bool has(const std::string& name) const { return options_.contains(name); }
  size_t count(const std::string& name) const;  // how often it was given
  Option* get_option(const std::string& name) { return &options_.at(name); }
  std::string config() const;  // all options that have a value, as TOML

 private:
  Option* keep(const std::string& name, CLI::Option* option);
  std::string unknown_option(const std::string& word) const;  // a sentence
  void refuse_setting(const std::vector<Setting>& settings) const;

  std::unique_ptr<CLI::App> app_;
  std::string group_ = "Options";
  std::map<std::string, Option> options_;
};

// What a config file has for an option, named without dashes; "" where it has nothing.
std::string value_in_config(const std::string& file, const std::string& option);

}  // namespace plimsoll::examples
