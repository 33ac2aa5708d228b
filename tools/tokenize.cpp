// tokenize: texts as one file of token ids, for train_transformer --data tokens:FILE.
//
//   tokenize --tokenizer gpt2 --input a.txt --output a.tokens
//   tokenize --tokenizer gpt2 --input a.txt --input b.txt --separate --output all.tokens
//
// The tokenizer is a folder with vocab.json and merges.txt, or a tokenizer.json
// (data/text/bpe_files.h); a text may be packed with gzip. Exit code: 0 written, 2 usage, 3 a file
// that cannot be used; then nothing was written.
#include "data/file.h"
#include "data/text/bpe_files.h"
#include "data/text/token_file.h"
#include "examples/common/options.h"

namespace plimsoll::tools {
namespace {

struct TokenizeOptions {
  std::string tokenizer, output;
  std::vector<std::string> inputs;
  bool separate = false;
};

void tokenize(const TokenizeOptions& options) {
  const data::BytePairEncoding bpe = data::load_tokenizer(options.tokenizer);
  const std::optional<int32_t> end = bpe.find("<|endoftext|>");
  check<UsageError>(!options.separate || end,
                    "--separate: the tokenizer has no token <|endoftext|>: ", options.tokenizer,
                    ". Leave it out.");
  for (const std::string& input : options.inputs) {
    std::error_code none;
    check<UsageError>(!std::filesystem::equivalent(input, options.output, none),
                      "--output: it is the text itself, which would be lost: ", input,
                      ". Name another file.");
  }
  data::TokenWriter writer(options.output, bpe.size());
  int64_t bytes = 0;
  for (const std::string& input : options.inputs) {
    const std::string text = data::read_text(input);
    bytes += std::ssize(text);
    writer.append(bpe.encode(text));
    if (options.separate) writer.append(std::vector{*end});
  }
  check<DataError>(writer.count() > 0, "--input: there is no text: ", options.inputs.front(),
                   ". Name a file with some text.");
  writer.finish();
  std::printf("%lld bytes of text, %lld tokens of %lld, %lld bytes each: %s\n",
              static_cast<long long>(bytes), static_cast<long long>(writer.count()),
              static_cast<long long>(bpe.size()), static_cast<long long>(writer.bytes_each()),
              options.output.c_str());
}

}  // namespace
}  // namespace plimsoll::tools

int main(int argc, char** argv) {
  using namespace plimsoll;
  tools::TokenizeOptions options;
  examples::CommandLine app{"Turns texts into one file of token ids."};
  app.add_option("--tokenizer", options.tokenizer, "Folder or file of the tokenizer")
      ->required()
      ->check(examples::not_empty());
  app.add_option("--input", options.inputs, "Text file; may be given several times")
      ->required()
      ->check(examples::not_empty());
  app.add_option("--output", options.output, "File to write")
      ->required()
      ->check(examples::not_empty());
  app.add_flag("--separate", options.separate, "Write <|endoftext|> after each text");
  examples::Options shared;
  return examples::run_example(app, argc, argv, shared, [&] { tools::tokenize(options); });
}
