#include "examples/writing/writing_options.h"

#include <iostream>
#include <iterator>

#include "core/tensor/bytes.h"
#include "data/file.h"

namespace plimsoll::examples {
namespace {

// What `check` refuses is refused, in these words.
Check in_words(const std::vector<Check>& checks, const std::string& what,
               const std::string& advice) {
  return {[=](std::string& text) -> std::string {
            for (const Check& check : checks)
              if (!check.fault(text).empty())
                return cat(what, ": ", text.empty() ? "\"\"" : text, advice);
            return "";
          },
          ""};
}

Check temperature() {
  return in_words({positive_number()}, "not a number above 0",
                  ". For the most probable token use --greedy.");
}
Check share() {
  return in_words({positive_number(), number_between(0, 1)}, "not a number above 0 and at most 1",
                  "");
}

}  // namespace

DType WritingOptions::dtype() const {
  switch (precision_named(precision_name)) {
    case Precision::bf16:
      return DType::bf16;
    case Precision::f16:
      return DType::f16;
    default:
      return DType::f32;
  }
}

void add_writing_options(CommandLine& app, WritingOptions& options) {
  options.model = options.data = "";
  app.add_option("--run", options.run, "Folder of a run of train_transformer, or one of its saves")
      ->check(not_empty());
  app.add_option("--data", options.data, "Where the text of that run lies now [as it was]")
      ->check(not_empty());
  app.add_option("--model", options.model,
                 "A published model instead: its folder as Hugging Face has it, or gpt2-124M")
      ->check(not_empty());
  app.add_option("--adapter", options.adapter, "Folder of an adapter of that model, in PEFT's form")
      ->check(not_empty());
  app.add_option("--base", options.base,
                 "What the matrices of that model's layers are kept in: int8 or nf4 [as "
                 "--precision says]")
      ->check(one_of({"int8", "nf4"}));
  app.add_option("--weights", options.weights, "Safetensors file of gpt2-124M")->check(not_empty());
  app.add_option("--tokenizer", options.tokenizer,
                 "Folder with vocab.json and merges.txt, or tokenizer.json: for tokens that are no "
                 "characters")
      ->check(not_empty());
  app.add_option("--prompt", options.prompt, "Text to go on from");
  app.add_option("--prompt-file", options.prompt_file, "File with that text; -: standard input")
      ->check(not_empty());
  app.add_option("--tokens", options.tokens, "Tokens to write")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--temperature", options.sampling.temperature,
                 "Below 1 makes the probable more probable")
      ->check(temperature())
      ->capture_default_str();
  app.add_option("--top-k", options.sampling.top_k, "Draw from so many tokens at most [all]")
      ->check(whole_number(1, kMany));
  app.add_option("--top-p", options.sampling.top_p,
                 "Draw from the most probable ones that have this share")
      ->check(share())
      ->capture_default_str();
  app.add_flag("--greedy", options.sampling.greedy, "Always the most probable token");
  app.add_option("--seed", options.seed, "Of what is drawn")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  app.add_option("--context", options.context,
                 "Tokens that are remembered [as many as are needed, at most the model's own]")
      ->check(whole_number(1, kMany));
  app.add_option("--precision", options.precision_name,
                 "What weights, activations and cache are kept in")
      ->check(one_of(precision_names()))
      ->capture_default_str();
  app.add_option("--budget", options.budget_text, "Bytes that may be held, as in 300MiB")
      ->check(size_in_bytes("300MiB"));
  app.add_flag("--plan-only", options.plan_only, "Print what it takes and stop");
  add_device_options(app, options);
  app.add_option("--json", options.json, "Write the figures to this file")->check(not_empty());
  app.parse_complete_callback([&] {
    if (!options.sampling.greedy) return;
    for (const char* name : {"--temperature", "--top-k", "--top-p"})
      plimsoll::check<UsageError>(app.count(name) == 0, name,
                                  ": --greedy draws nothing: it takes no ", name,
                                  ". Leave one of them out.");
  });
}

std::string prompt_of(const WritingOptions& options) {
  const bool from_file = !options.prompt_file.empty();
  check<UsageError>(!from_file || options.prompt.empty(),
                    "--prompt-file: --prompt has a text already: ", options.prompt_file,
                    ". Leave one of them out.");
  std::string text = options.prompt;
  if (options.prompt_file == "-")
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  else if (from_file)
    text = data::read_text(options.prompt_file);
  check<UsageError>(!text.empty(), from_file ? "--prompt-file" : "--prompt",
                    ": it is empty: there is nothing to go on from. Give some text.");
  return text;
}

nn::GeneratorOptions reads_of(const WritingOptions& options, const SavedGpt& gpt, int64_t prompt) {
  const int64_t most = gpt.context();
  check<UsageError>(options.context <= most, "--context: ", gpt.name(), " has ", most,
                    " positions: ", options.context, ". Use at most as many.");
  const int64_t needed = prompt + options.tokens - 1;  // the last token is not read
  const int64_t context = options.context > 0 ? options.context : std::min(most, needed);
  check<UsageError>(prompt <= context, "--prompt: it is longer than the context: ", prompt,
                    " tokens for ", context, ". Use a shorter one.");
  nn::GeneratorOptions reads{.context = context, .reads = {prompt}};
  if (needed > context) reads.reads.push_back(half_of(context));
  if (!options.budget_text.empty()) reads.budget = parse_bytes(options.budget_text);
  return reads;
}

}  // namespace plimsoll::examples
