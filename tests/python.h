// Programs of Python that read what we wrote, and write what we read.
//
//   NEEDS_PYTHON("numpy, torch");                    // skips the test by name without them
//   const python::Outcome outcome = python::run("torch_models.py", {"lenet", folder});
//   EXPECT_EQ(outcome.code, 0) << outcome.output;
//
// The interpreter is python3, or what the environment variable PLIMSOLL_PYTHON names: of a virtual
// environment that has the packages, for example.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace plimsoll::python {

struct Outcome {
  int code;            // -1: killed by a signal
  std::string output;  // of both streams
};

inline std::string interpreter() {
  const char* named = std::getenv("PLIMSOLL_PYTHON");
  return named && *named ? named : "python3";
}

inline std::string in_quotes(const std::string& word) {  // of the shell
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

inline Outcome run_words(const std::vector<std::string>& words) {
  std::string command = in_quotes(interpreter());
  for (const std::string& word : words) command += " " + in_quotes(word);
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

// A script of tests/.
inline Outcome run(const std::string& script, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(PLIMSOLL_SOURCE_DIR "/tests/") + script);
  return run_words(arguments);
}

// "numpy, torch": whether all can be imported.
inline bool has(const std::string& packages) {
  return run_words({"-c", "import " + packages}).code == 0;
}

#define NEEDS_PYTHON(packages)                                                       \
  if (!plimsoll::python::has(packages))                                              \
  GTEST_SKIP() << plimsoll::python::interpreter() << " cannot import " << (packages) \
               << ": set PLIMSOLL_PYTHON to one that can"

}  // namespace plimsoll::python
