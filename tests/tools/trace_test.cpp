// plan_trace and check_trace as a person runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/examples/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using examples::Outcome;

class ToolsTrace : public ::testing::Test {
 protected:
  ToolsTrace() { fs::create_directories(folder_); }
  ~ToolsTrace() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  Outcome plan(const std::string& trace, const std::string& ratio) const {
    return examples::run("plan_trace --input " + write("in.trace", trace) + " --output " +
                         path("out.plan") + " --seconds 0.1 --budget-ratio " + ratio);
  }
  Outcome check(const std::string& ratio) const {
    return examples::run("check_trace --input " + path("in.trace") + " --plan " + path("out.plan") +
                         " --budget-ratio " + ratio);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("plimsoll_trace_" + std::to_string(getpid()));
};

// A chain with skips, views, scratch and in-place ops, its backward pass and an update.
std::string chain(uint32_t seed, int layers) {
  std::mt19937 random(seed);
  std::ostringstream text;
  text << "input x 4096\ninput w 4096\n";
  std::vector<int> size{0};
  for (int i = 1; i <= layers; ++i) {
    const bool over = i > 1 && random() % 4 == 0;
    size.push_back(over ? size.back() : 64 * static_cast<int>(1 + random() % 50));
    text << "op f" << random() % 5 << " 0." << 1 + random() % 9 << " reads w "
         << (i == 1 ? "x" : "h" + std::to_string(i - 1));
    if (i > 2 && random() % 4 == 0) text << " h" << 1 + random() % static_cast<unsigned>(i - 2);
    text << " writes h" << i << ":" << size.back() << " workspace " << random() % 2 * 640;
    if (over) text << " over h" << i - 1;
    text << "\n";
  }
  text << "op loss 0.1 reads h" << layers << " writes g" << layers << ":64\n";
  for (int i = layers; i > 0; --i) {
    text << "alias v" << i << " g" << i << "\n";
    text << "op b 0." << 1 + random() % 9 << " reads v" << i << " w h" << i;
    if (random() % 2) text << " " << (i == 1 ? "x" : "h" + std::to_string(i - 1));
    text << " writes g" << i - 1 << ":" << 64 * (1 + random() % 50) << "  # backward\n";
    text << "last h" << i << "\n";
  }
  text << "op sgd 0.1 reads g0 changes w\nresult g0\n";
  return text.str();
}

TEST_F(ToolsTrace, PlansPassTheCheckAndTightOnesAreRefused) {
  int planned = 0, refused = 0;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    for (const char* ratio : {"1", "0.7", "0.5", "0.3"}) {
      SCOPED_TRACE(seed);
      const Outcome outcome = plan(chain(seed, 10 + static_cast<int>(seed) * 10), ratio);
      if (outcome.code == 1) {
        ++refused;
        EXPECT_NE(outcome.output.find("the smallest takes "), std::string::npos);
        continue;
      }
      ASSERT_EQ(outcome.code, 0) << outcome.output;
      const Outcome checked = check(ratio);
      EXPECT_EQ(checked.code, 0) << outcome.output << checked.output;
      // Both count the same bytes and the same time.
      const auto words = [](const std::string& text, const char* from, const char* to) {
        const size_t begin = text.find(from), end = text.find(to, begin);
        return text.substr(begin, end - begin);
      };
      EXPECT_EQ(words(outcome.output, "peak ", " bytes"), words(checked.output, "peak ", " bytes"));
      EXPECT_EQ(words(outcome.output, "added time ", " s to"),
                words(checked.output, "added time ", " s to"));
      ++planned;
    }
  }
  EXPECT_GT(planned, 12);
}

TEST_F(ToolsTrace, TheCheckFindsWhatIsWrongWithAPlan) {
  const std::string trace =
      "input w 64\nop a 1 reads w writes x:64\nop b 1 reads x writes y:64\n"
      "op c 1 reads y changes w\nresult x\n";
  ASSERT_EQ(plan(trace, "1").code, 0);
  const auto wrong = [&](const std::string& text, const std::string& sentence) {
    write("out.plan", text);
    const Outcome outcome = check("1");
    EXPECT_EQ(outcome.code, 1) << text;
    EXPECT_NE(outcome.output.find(sentence), std::string::npos) << outcome.output;
  };
  wrong("run 0\nrun 2\n", "line 2 of the plan: op 2 is not the next one");
  wrong("run 0\nfree x\nrun 1\n", "b misses x");
  wrong("run 0\nagain 1\n", "op 1 did not run before");
  wrong("run 0\nrun 1\nrun 2\nagain 2\n", "c changes something and runs twice");
  wrong("run 0\nfree x\nagain 0\nrun 1\nrun 2\nfree x\n", "result x is not there");
  wrong("run 0\nrun 1\nrun 2\nfree x\nagain 0\n", "a reads w, which has changed");
  wrong("run 0\nrun 1\n", "op c does not run");
  wrong("run 0\nwalk 1\n", "it is neither run, again nor free");
  write("in.trace", "op a 1 writes x:64\nop b 1 changes x\nresult x\n");
  wrong("run 0\nrun 1\nfree x\nagain 0\n", "result x has lost a change");
  write("in.trace", trace);
  write("out.plan", "run 0\nrun 1\nrun 2\n");
  EXPECT_EQ(check("1").code, 0);
  EXPECT_EQ(check("0.9").code, 1);  // more is alive than that
}

TEST_F(ToolsTrace, MalformedTracesAreRefusedByLine) {
  const struct {
    const char *trace, *sentence;
  } bad[] = {
      {"", ": there is no op in it."},
      {"move a b\n", "line 1: `move` is no statement; expected op, input, alias, last or result"},
      {"input w\n", "line 1: `input` is followed by 1 words; expected 2"},
      {"op f 1 reads writes a:64\n", "line 1: `reads` is followed by 0 words; expected 1 or more"},
      {"op f 1 writes a:64 workspace\n", "line 1: `workspace` is followed by 0 words; expected 1"},
      {"op f 1 writes a:64 workspace 5 6\n",
       "line 1: `workspace` is followed by 2 words; expected 1"},
      {"input w -1\n", "line 1: `-1` is no number of bytes; expected a whole number from 0"},
      {"input w 1.5\n", "line 1: `1.5` is no number of bytes"},
      {"\n# nothing\ninput w 1\ninput w 1\n", "line 4: `w` stands for something already"},
      {"op a\n", "line 1: an op has a name and a time; expected `op NAME SECONDS ...`"},
      {"op a fast\n", "line 1: `fast` is no time; expected seconds from 0 to "},
      {"op a nan\n", "line 1: `nan` is no time"},
      {"op a 1e300\n", "line 1: `1e300` is no time"},
      {"op a 1 writes x:64\nlast x\nresult x\n", "line 3: `x` is a result after its `last`"},
      {"op a -1\n", "line 1: `-1` is no time"},
      {"op a 1 reads x\n", "line 1: `x` is not known"},
      {"op a 1 x\n", "line 1: `x` follows no keyword"},
      {"op a 1 writes x\n", "line 1: `x` has no size; expected NAME:BYTES"},
      {"op a 1 writes x:64\nop b 1 reads x writes y:128 over x\n",
       "line 2: `x` has 64 bytes; expected the 128 of what is written over it"},
      {"op a 1 writes x:64\nlast x\nop b 1 reads x\n", "line 3: `x` is read after its `last`"},
      {"op a 1 writes x:1152921504606846976\nop b 1 writes y:1\n",
       "line 2: all sizes together pass 1152921504606846976 bytes"},
      {"input w 64\nop a 1 writes x:64 over w\n", "line 2: the op cannot write over `w`"},
  };
  for (const auto& [trace, sentence] : bad) {
    const Outcome outcome = plan(trace, "0.5");
    EXPECT_EQ(outcome.code, 2) << trace;
    EXPECT_NE(outcome.output.find(sentence), std::string::npos) << trace << outcome.output;
  }
  EXPECT_EQ(examples::run("plan_trace --input /nowhere --output /tmp/x --budget-ratio 1").code, 2);
  for (const char* text : {"op a 1 writes x:-100\n", "op a 1 writes x:12abc\n",
                           "op a 1 writes x:1\nlast x\nop b 1 reads x\n"}) {
    write("in.trace", text);
    write("out.plan", "run 0\n");
    EXPECT_EQ(check("1").code, 2) << text;
  }
  for (const char* text : {"", "# nothing\n", "op a 0.0021abc\n", "op a nan\n", "op a inf\n"}) {
    write("in.trace", text);
    write("out.plan", "");
    EXPECT_EQ(check("1").code, 2) << text;
  }
  const std::string right = write("in.trace", "op a 1 writes x:10\n");
  write("out.plan", "run 0\nfree x\n");
  EXPECT_EQ(check("1").code, 0);
  EXPECT_EQ(examples::run("check_trace --input " + folder_.string() + " --plan " +
                          path("out.plan") + " --budget-ratio 1")
                .code,
            2);
  for (const char* ratio : {"inf", "nan", "1e30", "0", "-1"}) {
    EXPECT_EQ(check(ratio).code, 2) << ratio;
    EXPECT_EQ(plan("op a 1\n", ratio).code, 2) << ratio;
    write("in.trace", "op a 1 writes x:10\n");
    write("out.plan", "run 0\nfree x\n");
  }
  for (const char* seconds : {"nan", "inf", "0"})
    EXPECT_EQ(examples::run("plan_trace --input " + right + " --output " + path("out.plan") +
                            " --budget-ratio 1 --seconds " + seconds)
                  .code,
              2)
        << seconds;
  EXPECT_EQ(plan("op a 1\n", "1").code, 0);
  EXPECT_EQ(plan("op a 1 writes x:10\n", "1").code, 0);
  EXPECT_EQ(plan("input w 8\nop a 1 reads w changes w\n", "1").code, 0);
  EXPECT_EQ(plan("op a 1\n", "0").code, 2);
  EXPECT_EQ(plan("op a 1\n", "half").code, 2);
  write("in.trace", "op a 1\n");
  EXPECT_EQ(examples::run("plan_trace --input " + path("in.trace") +
                          " --output /nowhere/x --budget-ratio 1")
                .code,
            2);
}

}  // namespace
}  // namespace plimsoll
