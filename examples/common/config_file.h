// A file of options: those lines of TOML that say what a command line says.
//
//   lr = 0.001                      # a number or true and false, or
//   data = "text:my \"#1\".txt"     # a string with escapes, or
//   run = 'C:\runs'                 # one without any, or an array of these: [1, 2]
//   checkpoint                      # alone it means true
//
//   for (const Setting& setting : read_config("runs/a/config.toml")) ...
//   to_toml("text:my \"#1\".txt")   // "\"text:my \\\"#1\\\".txt\"": reads as what it was
//
// Other words need no quotes either (model = gpt). Tables, dates, and strings over several lines
// are no part of it.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::examples {

struct Setting {
  std::string name;
  std::vector<std::string> values;  // more or fewer than one where an array is written
  std::string place;                // "runs/a/config.toml, line 3"
};

// UsageError, with the file and the line, for what cannot be read, holds more than 1 MiB, or sets a
// name twice.
std::vector<Setting> read_config(const std::string& file);

// A value as such a file has it: numbers, true and false as they are, all else in quotes.
std::string to_toml(const std::string& value);

}  // namespace plimsoll::examples
