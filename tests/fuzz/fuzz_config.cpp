// The TOML files of --config. They are part of a command line, so what is wrong with them is wrong
// usage.
#include "examples/common/config_file.h"
#include "examples/common/recipe.h"
#include "examples/common/run_options.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  const std::string file = in_memory(bytes);
  std::string program = "train", config = "--config=" + file;
  char* words[] = {program.data(), config.data()};
  try {
    examples::read_config(file);  // most end here, before all options are made for them
    examples::Options options;
    examples::CommandLine app;
    examples::add_options(app, options, {"lenet", "gpt"});
    examples::add_recipe_options(app, options);
    examples::add_memory_options(app, options);
    examples::add_run_options(app, options);
    examples::parse_command_line(app, 2, words, options);
    return true;
  } catch (const examples::Exit&) {
  } catch (const UsageError&) {
  }
  return false;
}

std::vector<std::string> seeds() {
  return {"", "model=\"gpt\"\nbatch=12\nlr=0.001\ncheckpoint=true\n",
          "# a comment\n; another\nseed = 7 # another\njson = 'a.json'\n\nfind-nan=false\n",
          "threads=[1]\nprecision=\"bf16\"\ndevice='cpu'\n\n"};
}

std::vector<std::string> words() {
  return {"model=",  "batch=", "\"", "'",     "\"\"\"",  "'''",  "[",     "]",  "[[a]]\n", ",",
          "\n",      "\r\n",   "#",  ".",     "=",       "true", "1e999", "-1", "\\u00e9", "\\",
          "config=", "run=",   "{}", "help=", "[a.b]\n", "\xff", "++",    "%%"};
}

}  // namespace plimsoll::fuzz
