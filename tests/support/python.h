// Programs of Python that read what we wrote, and write what we read.
//
//   NEEDS_PYTHON("numpy, torch");                    // of a test that is skipped without them
//   const python::Outcome outcome =
//       python::run("examples/references/torch_models.py", {"lenet", folder});
//   EXPECT_EQ(outcome.code, 0) << outcome.output;
//
// The interpreter is python3, or what the environment variable PLIMSOLL_PYTHON names: of a virtual
// environment that has the packages, for example. Who names one means it: what it lacks fails the
// test, so that no comparison goes missing in silence. Only torch, which is large, may be missing
// there too: tests that need it are skipped then, whatever else they need.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/shell.h"

namespace plimsoll::python {

using plimsoll::Outcome;

inline bool is_named() {
  const char* named = std::getenv("PLIMSOLL_PYTHON");
  return named && *named;
}

inline std::string interpreter() { return is_named() ? std::getenv("PLIMSOLL_PYTHON") : "python3"; }

inline std::string in_quotes(const std::string& word) {  // of the shell
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

inline Outcome run_words(const std::vector<std::string>& words) {
  std::string command = in_quotes(interpreter());
  for (const std::string& word : words) command += " " + in_quotes(word);
  return run_shell(command);
}

// A script of tests/.
inline Outcome run(const std::string& script, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(PLIMSOLL_SOURCE_DIR "/tests/") + script);
  return run_words(arguments);
}

// Whether all are installed: "numpy, torch". None is imported, which takes seconds: what is
// there and broken fails the test itself. Asked once in a process.
inline bool has(const std::string& packages) {
  static std::map<std::string, bool> known;
  const auto [at, is_new] = known.emplace(interpreter() + " " + packages, false);
  if (is_new)
    at->second = run_words({"-c",
                            "import importlib.util, sys\n"
                            "names = sys.argv[1].split(', ')\n"
                            "sys.exit(not all(map(importlib.util.find_spec, names)))",
                            packages})
                     .code == 0;
  return at->second;
}

// Those of them that cannot.
inline std::string missing_of(const std::string& packages) {
  if (has(packages)) return "";
  std::string missing;
  std::istringstream all(packages);
  for (std::string name; all >> name;) {
    if (name.back() == ',') name.pop_back();
    if (!has(name)) missing += (missing.empty() ? "" : ", ") + name;
  }
  return missing;
}

// Whether a test may be skipped that has not got these.
inline bool may_lack(const std::string& packages) {
  if (!is_named()) return true;
  return packages.find("torch") != packages.npos && !has("torch") && has("sys");  // it runs
}

#define NEEDS_PYTHON(packages)                                                                \
  if (const std::string missing = plimsoll::python::missing_of(packages); !missing.empty()) { \
    const std::string lack = plimsoll::python::interpreter() + " cannot import " + missing +  \
                             ": set PLIMSOLL_PYTHON to one that can";                         \
    if (!plimsoll::python::may_lack(packages)) FAIL() << lack << ", or to nothing";           \
    GTEST_SKIP() << lack;                                                                     \
  }                                                                                           \
  static_assert(true)

}  // namespace plimsoll::python
