// Running the example programs as a person does.
//
//   const Outcome outcome = run("train_cnn --lr nan");
//   EXPECT_EQ(outcome.code, 2) << outcome.output;
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace plimsoll::examples {

struct Outcome {
  int code;            // -1: killed by a signal
  std::string output;  // of both streams
};

// `before` is put in front of the command, for the shell.
inline Outcome run(const std::string& arguments, const std::string& before = "") {
  const std::string command = before + PLIMSOLL_BIN_DIR + "/" + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

}  // namespace plimsoll::examples
