// Generator: a language model that writes, with a cache of keys and values, and all of its memory
// planned before the first token.
//
//   nn::Generator generator(model, {.context = 1024, .reads = {prompt.size()}});
//   generator.plan().print();                           // exact bytes
//   std::vector<float> logits = generator.read(prompt); // of the token that follows
//   for (int64_t i = 0; i < 200; ++i) {
//     const int64_t token = nn::sample(logits, {.top_k = 40}, seed, generator.position());
//     logits = generator.read(std::array{token});
//   }
//
// To read is one captured step with a program for each number of tokens that are read together: one
// for a single token, whatever its position, and those of the prompt. A budget decides how many
// tokens of a prompt are read together; on the CPU that does not change one bit of what is written.
#pragma once

#include "memory/step/step.h"
#include "nn/key_value_cache.h"

namespace plimsoll::nn {

struct GeneratorOptions {
  int64_t context = 0;                      // tokens that can be read, written ones among them
  std::vector<int64_t> reads = {};          // how many will be read at once, besides single ones
  int64_t budget = StepOptions::kNoBudget;  // bytes of weights, cache and everything else
};

// Bytes, as a pool measures them.
struct GenerationPlan {
  int64_t context = 0;
  int64_t together = 1;  // tokens of a longer run that are read together
  int64_t weights = 0, cache = 0;
  int64_t reading = 0, writing = 0;  // besides these: inputs, arena and result of a program

  int64_t total() const { return weights + cache + std::max(reading, writing); }
  void print() const;  // to the standard output
};

class Generator {
 public:
  // `model`, which must outlive it, makes of ids [1, T] logits [1, T, V], or with a cache [1, 1, V]
  // of the last token. Takes the cache. On the device without bytes nothing is taken, and only
  // plan() is of use. Errors: those of KeyValueCache; ValueError for reads outside 1 ... context;
  // BudgetError naming the smallest budget that would do, and how much of a context fits.
  Generator(const Module& model, GeneratorOptions options);
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  const GenerationPlan& plan() const { return plan_; }

  // Reads tokens behind those that were read before: their number becomes position(). Returns the
  // logits [V] of the token that follows the last. Errors: ValueError for none and where there is
  // no room for so many; IndexError for a token that the model does not know; OutOfMemory. After an
  // error the position is what it was.
  std::vector<float> read(std::span<const int64_t> tokens);
  int64_t position() const { return position_; }
  void restart() { position_ = 0; }  // forgets what was read

 private:
  static Metas inputs(int64_t tokens, Device device);
  // What reading in runs of so many takes, besides what stays.
  int64_t bytes_of_reads(int64_t together);
  void plan_reads();

  const Module& model_;
  const GeneratorOptions options_;
  const KeyValueCache cache_;
  Step step_;
  GenerationPlan plan_;
  Device device_;
  int64_t position_ = 0;
};

}  // namespace plimsoll::nn
