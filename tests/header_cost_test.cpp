// What one include costs whoever uses the engine: the lines that a compiler reads for it.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

// Lines with something on them after preprocessing, of a program with these lines. -1: it failed.
int preprocessed_lines(const std::string& program) {
  const std::string command = "printf '" + program +
                              "' | " PLIMSOLL_CXX " -std=c++20 -I " PLIMSOLL_SOURCE_DIR
                              " -I " PLIMSOLL_GENERATED_DIR " -E -x c++ -";
  FILE* pipe = popen(command.c_str(), "r");
  int lines = 0;
  bool blank = true, start = true, marker = false;
  for (int c; (c = fgetc(pipe)) != EOF;) {
    if (c == '\n') {
      lines += !blank && !marker;
      blank = start = true;
      marker = false;
      continue;
    }
    if (start && c == '#') marker = true;
    start = false;
    blank = blank && (c == ' ' || c == '\t');
  }
  return pclose(pipe) == 0 ? lines : -1;
}

TEST(HeaderCost, OneIncludeIsAtMost60000Lines) {
  EXPECT_EQ(preprocessed_lines("int a;\\n\\n  \\n# 1\\nint b;\\n"), 2);
  EXPECT_EQ(preprocessed_lines("#include \"no such file\"\\n"), -1);
  const int lines = preprocessed_lines("#include \"plimsoll.h\"\\n");
  EXPECT_GT(lines, 10'000);
  EXPECT_LE(lines, 60'000);
  std::printf("plimsoll.h: %d lines\n", lines);
}

}  // namespace
