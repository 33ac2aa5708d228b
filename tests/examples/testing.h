// Running the example programs as a person does.
//
//   const Outcome outcome = run("train_cnn --lr nan");
//   EXPECT_EQ(outcome.code, 2) << outcome.output;
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/shell.h"

namespace plimsoll::examples {

using plimsoll::Outcome;

// `before` is put in front of the command, for the shell.
inline Outcome run(const std::string& arguments, const std::string& before = "") {
  return run_shell(before + PLIMSOLL_BIN_DIR + "/" + arguments);
}

// It says no more than a sentence or two.
inline void expect_refusal(const std::string& arguments, int code, const std::string& sentence) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
  EXPECT_NE(outcome.output.find(sentence), std::string::npos) << arguments << "\n"
                                                              << outcome.output;
  EXPECT_LE(std::ranges::count(outcome.output, '\n'), 2) << outcome.output;
  EXPECT_LT(outcome.output.size(), 300U) << outcome.output;
}

// The number behind `label` in a program's output; -1 when it is not there.
inline int64_t number_after(const std::string& output, const std::string& label) {
  const size_t at = output.find(label);
  return at == std::string::npos ? -1 : std::stoll(output.substr(at + label.size()));
}

}  // namespace plimsoll::examples
