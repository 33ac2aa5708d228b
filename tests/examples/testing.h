// Running the example programs as a person does.
//
//   const Outcome outcome = run("train_cnn --lr nan");
//   EXPECT_EQ(outcome.code, 2) << outcome.output;
#pragma once

#include "tests/support/shell.h"

namespace plimsoll::examples {

using plimsoll::Outcome;

// `before` is put in front of the command, for the shell.
inline Outcome run(const std::string& arguments, const std::string& before = "") {
  return run_shell(before + PLIMSOLL_BIN_DIR + "/" + arguments);
}

}  // namespace plimsoll::examples
