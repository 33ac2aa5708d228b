// Which tests may be skipped for what a named interpreter lacks.
#include "tests/support/python.h"

#include "tests/data/testing.h"

namespace plimsoll {
namespace {

// An interpreter that cannot import what has one of these words in it.
class Lacking {
 public:
  explicit Lacking(const std::string& words) : before_(python::interpreter()) {
    const auto file =
        dir_.write("python", "#!/bin/sh\ncase \"$3\" in " + words + ") exit 1;; esac\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    named_ = python::is_named();
    setenv("PLIMSOLL_PYTHON", file.c_str(), 1);
  }
  ~Lacking() {
    named_ ? setenv("PLIMSOLL_PYTHON", before_.c_str(), 1) : unsetenv("PLIMSOLL_PYTHON");
  }

 private:
  data::TemporaryFolder dir_;
  std::string before_;
  bool named_;
};

TEST(Python, OnlyWhereTorchIsMissingMayATestBeSkipped) {
  const Lacking torch("*torch*|*peft*");
  EXPECT_EQ(python::missing_of("numpy, torch, peft"), "torch, peft");
  EXPECT_TRUE(python::may_lack("numpy, torch, peft"));
  EXPECT_FALSE(python::may_lack("numpy, peft"));
}

TEST(Python, WhatIsMissingBesideTorchIsNamed) {
  const Lacking peft("*peft*");
  EXPECT_EQ(python::missing_of("torch, peft, numpy"), "peft");
  EXPECT_EQ(python::missing_of("torch, numpy"), "");
  EXPECT_FALSE(python::may_lack("torch, peft"));
}

TEST(Python, AnInterpreterThatDoesNotRunLacksNothing) {
  const Lacking all("*");
  EXPECT_FALSE(python::may_lack("torch"));
}

}  // namespace
}  // namespace plimsoll
