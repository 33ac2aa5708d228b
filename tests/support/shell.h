// Other programs, run by the shell.
//
//   const Outcome outcome = run_shell("ls /nowhere");
//   EXPECT_EQ(outcome.code, 2) << outcome.output;
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace plimsoll {

struct Outcome {
  int code;            // -1: killed by a signal
  std::string output;  // of both streams
};

inline Outcome run_shell(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

}  // namespace plimsoll
