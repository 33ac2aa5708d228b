// Writes text with a GPT, one token after another, and says before the first what memory that
// takes.
//
//   generate --run runs/a --prompt "KING:"                       a run of train_transformer
//   generate --model models/SmolLM-135M --prompt "Once"          a folder as Hugging Face has it
//   generate --model models/SmolLM-135M --adapter runs/b/adapter --prompt "Once"
//   generate --model gpt2-124M --weights model.safetensors --tokenizer gpt2 --prompt-file start.txt
//
// The text goes to the standard output, everything else to the standard error.
#include <chrono>
#include <numeric>

#include "examples/common/report.h"
#include "examples/writing/writing_options.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::examples {
namespace {

// The prompt and what is written behind it, with the seconds that each reading took.
struct Writing {
  std::vector<int64_t> tokens;
  std::vector<double> seconds;

  std::vector<float> read_last(int64_t n, nn::Generator& generator) {
    const auto start = std::chrono::steady_clock::now();
    auto logits = generator.read(std::span<const int64_t>(tokens).last(static_cast<size_t>(n)));
    const auto end = std::chrono::steady_clock::now();
    seconds.push_back(std::chrono::duration<double>(end - start).count());
    return logits;
  }
  double tokens_per_second() const {  // once the prompt was read
    const double rest = std::accumulate(seconds.begin() + 1, seconds.end(), 0.0);
    return rest > 0 ? static_cast<double>(seconds.size() - 1) / rest : 0;
  }
};

void show(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Writes so many tokens behind those that are there, or until one ends the text. When the context
// is full, its last half is read again, as the first half of the next.
void write(Writing& writing, const WritingOptions& options, const SavedGpt& gpt,
           nn::Generator& generator) {
  std::vector<float> logits = writing.read_last(std::ssize(writing.tokens), generator);
  for (int64_t i = 1;; ++i) {
    const auto number = static_cast<uint64_t>(writing.tokens.size());
    writing.tokens.push_back(nn::sample(logits, options.sampling, options.seed, number));
    if (gpt.is_end(writing.tokens.back())) break;
    show(gpt.decode(writing.tokens.back()));
    if (i == options.tokens) break;
    const int64_t context = generator.plan().context;
    const bool full = generator.position() == context;
    if (full) generator.restart();
    logits = writing.read_last(full ? half_of(context) : 1, generator);
  }
  show("\n");
}

// What it takes is known, and refused where it is too much, before there are weights.
nn::GenerationPlan planned(const WritingOptions& options, const SavedGpt& gpt,
                           const nn::GeneratorOptions& reads) {
  const auto shapes = gpt.make({.dtype = options.dtype(), .device = Device::null}, reads.context);
  try {
    return nn::Generator(*shapes, reads).plan();
  } catch (const BudgetError& e) {
    fail<UsageError>("--budget ", options.budget_text, ": ", e.what());
  }
}

void run(const WritingOptions& options) {
  const ReportFile report(options.json);
  const SavedGpt gpt(options.source());
  const std::string prompt = prompt_of(options);
  Writing writing{.tokens = gpt.encode(prompt), .seconds = {}};
  const int64_t read = std::ssize(writing.tokens);
  const nn::GeneratorOptions reads = reads_of(options, gpt, read);
  const nn::GenerationPlan expected = planned(options, gpt, reads);
  const auto figures = [&](const nn::GenerationPlan& plan) {
    return Json{{"model", gpt.name()},
                {"precision", options.precision_name},
                {"context", plan.context},
                {"cache_bytes", plan.cache},
                {"planned_bytes", plan.total()}};
  };
  if (options.plan_only) {
    expected.print();
    return report.write(figures(expected));
  }
  const Device device = open_device(options.device);
  PooledAllocator& pool = *default_pool(device);
  if (reads.budget > 0) pool.set_limit(PooledAllocator::kUnlimited - 1);  // exact from here on
  const auto model = gpt.make({.dtype = options.dtype(), .device = device}, reads.context);
  if (reads.budget > 0) pool.set_limit(reads.budget);
  pool.reset_peak();
  const int64_t weights = pool.stats().in_use;

  nn::Generator generator(*model, reads);
  show(prompt);
  write(writing, options, gpt, generator);
  const nn::GenerationPlan& plan = generator.plan();
  const int64_t peak = pool.stats().peak.bytes;
  const int64_t mapped = plan.weights - weights;  // in the files, not in the pool
  std::fprintf(stderr,
               "%lld tokens read in %.3f s, then %.1f tokens/s; planned %lld bytes, held %lld%s\n",
               static_cast<long long>(read), writing.seconds.front(), writing.tokens_per_second(),
               static_cast<long long>(plan.total()), static_cast<long long>(peak),
               mapped > 0 ? cat(" and ", mapped, " in mapped files").c_str() : "");
  Json json = figures(plan);
  json.update({{"prompt_tokens", read},
               {"tokens", writing.tokens},
               {"seconds", writing.seconds},
               {"tokens_per_second", writing.tokens_per_second()},
               {"mapped_bytes", mapped},
               {"peak_bytes", peak}});
  report.write(json);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  WritingOptions options;
  CommandLine app{"Writes text with a GPT and says what memory that takes."};
  add_writing_options(app, options);
  return run_example(app, argc, argv, options, [&] { run(options); });
}
