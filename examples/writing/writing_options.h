// The command line of generate: whose model, from which text on, how long, drawn how, in what
// memory.
//
//   WritingOptions options;
//   CommandLine app{"Writes text."};
//   add_writing_options(app, options);
//   return run_example(app, argc, argv, options, [&] { write(options); });
#pragma once

#include "examples/common/options.h"
#include "examples/writing/saved_gpt.h"
#include "nn/generate/generator.h"
#include "nn/generate/sampling.h"

namespace plimsoll::examples {

struct WritingOptions : Options {
  std::string adapter, base, tokenizer, prompt, prompt_file;
  int64_t tokens = 200;
  int64_t context = 0;  // 0: as many as are needed, at most all that the model has
  nn::SamplingOptions sampling;

  GptSource source() const { return {run, model, adapter, base, weights, tokenizer, data}; }
  DType dtype() const;  // of --precision
};

void add_writing_options(CommandLine& app, WritingOptions& options);

// Of --prompt, or of the file or the standard input that --prompt-file names. UsageError for an
// empty one, DataError for a file that cannot be read.
std::string prompt_of(const WritingOptions& options);

// What will be read: the prompt; and where the context is full, its last half once more, as the
// first half of the next. UsageError for a prompt or a context that is too long.
nn::GeneratorOptions reads_of(const WritingOptions& options, const SavedGpt& gpt, int64_t prompt);
inline int64_t half_of(int64_t context) { return (context + 1) / 2; }

}  // namespace plimsoll::examples
