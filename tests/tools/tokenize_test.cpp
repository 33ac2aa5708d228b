// The program tokenize as a person uses it, and training on what it wrote.
#include "data/text/token_file.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::data {
namespace {

using examples::run;

class ToolsTokenize : public testing::Test {
 protected:
  void SetUp() override {
    write_tokenizer({"Ġt", "he"}, "", R"("Ġ t", "h e")");
    dir_.write("a.txt", std::string("the the"));
    dir_.write("b.txt", gzip({'h', 'e'}));
  }
  // With `more` beside the bytes.
  void write_tokenizer(const std::vector<std::string>& more, const std::string& added,
                       const std::string& merges) const {
    dir_.write("tokenizer.json",
               cat(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, )",
                   R"("added_tokens": [)", added, R"(], "model": {"merges": [)", merges,
                   R"(], "vocab": )", byte_vocabulary(more), "}}"));
  }
  std::string tokenize(const std::string& more) const {
    return cat("tokenize --tokenizer ", dir_.text("tokenizer.json"), " --output ", dir_.text("out"),
               more);
  }
  const TemporaryFolder dir_;
};

TEST_F(ToolsTokenize, WritesTheTokensOfAllTexts) {
  const auto outcome =
      run(tokenize(cat(" --input ", dir_.text("a.txt"), " --input ", dir_.text("b.txt"))));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output,
            cat("9 bytes of text, 5 tokens of 258, 2 bytes each: ", dir_.text("out"), "\n"));
  const TokenFile file(dir_ / "out");
  std::vector<int64_t> ids(5);
  file.tokens().copy(0, file.tokens().size(), ids.data());
  EXPECT_EQ(ids, (std::vector<int64_t>{'t' - 33, 257, 256, 257, 257}));
  EXPECT_EQ(file.vocabulary(), 258);
}

TEST_F(ToolsTokenize, SeparatesTexts) {
  write_tokenizer({"he"}, R"({"id": 257, "content": "<|endoftext|>"})", R"("h e")");
  const auto outcome = run(tokenize(cat(" --separate --input ", dir_.text("a.txt"))));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output,
            cat("7 bytes of text, 6 tokens of 258, 2 bytes each: ", dir_.text("out"), "\n"));
}

// By whatever name the text is written over.
TEST_F(ToolsTokenize, DoesNotWriteOverItsText) {
  const std::string text = data::read_text(dir_ / "a.txt");
  std::filesystem::create_symlink(dir_ / "a.txt", dir_ / "out");
  std::filesystem::create_directory(dir_ / "folder");
  for (const std::string& more :
       {cat(" --input ", dir_.text("a.txt")),
        cat(" --input ", dir_.text("b.txt"), " --input ", dir_.text("folder/../a.txt"))}) {
    const auto outcome = run(tokenize(more));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(outcome.output.starts_with("--output: it is the text itself")) << outcome.output;
    EXPECT_EQ(data::read_text(dir_ / "a.txt"), text);
  }
}

TEST_F(ToolsTokenize, RefusesAndLeavesNothing) {
  const auto expect = [&](const std::string& more, int code, const std::string& sentence) {
    const auto outcome = run(tokenize(more));
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_NE(outcome.output.find(sentence), std::string::npos) << outcome.output;
    for (const std::string& name : names_in(dir_.path())) EXPECT_FALSE(name.starts_with("out"));
  };
  const std::string good = " --input " + dir_.text("a.txt");
  expect("", 2, "--input is required");
  expect(good + " --separate", 2, "--separate: the tokenizer has no token <|endoftext|>: ");
  expect(good + " --input " + dir_.text("none"), 3, "there is no such file: " + dir_.text("none"));
  dir_.write("empty", std::string());
  expect(" --input " + dir_.text("empty"), 3, "--input: there is no text: " + dir_.text("empty"));
  dir_.write("tokenizer.json", std::string("{}"));
  expect(good, 3, "tokenizer: something is missing: ");
}

TEST_F(ToolsTokenize, TrainingReadsItsFilesAndRawOnes) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "the she he";
  dir_.write("a.txt", text);
  ASSERT_EQ(run(tokenize(" --input " + dir_.text("a.txt"))).code, 0);
  const Bytes bytes = read_file(dir_ / "out");
  dir_.write("raw", Bytes(bytes.begin() + 32, bytes.end()));
  const std::string size = " --steps 2 --batch 2 --context 8 --layers 1 --heads 1 --width 8";
  for (const char* file : {"out", "raw"}) {
    const auto outcome = run(cat("train_transformer --data tokens:", dir_.text(file), size));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find("step 2/2  mean loss 5.5"), std::string::npos) << outcome.output;
  }
  dir_.write("out", Bytes(bytes.begin(), bytes.end() - 1));
  const auto outcome = run(cat("train_transformer --data tokens:", dir_.text("out"), size));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(outcome.output.starts_with(
      cat("--data tokens:", dir_.text("out"), ": tokens: the file is cut short or too long: ")))
      << outcome.output;
}

}  // namespace
}  // namespace plimsoll::data
