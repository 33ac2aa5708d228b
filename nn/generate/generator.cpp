#include "nn/generate/generator.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "autograd/no_grad.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

// ids [1, T] and positions [T] -> logits [V] of what follows.
StepFunction reading(const Module& model, const KeyValueCache& cache) {
  return step_function([&](const Tensor& ids, const Tensor& positions) {
    const NoGrad scope;
    const Tensor logits = model(ids, going_on(cache, positions));
    const int64_t rows = logits.size(1);
    const Tensor last = slice(logits, 1, rows - 1, rows);
    return cast(reshape(last, {logits.size(2)}), DType::f32);
  });
}

}  // namespace

void GenerationPlan::print() const {
  const auto line = [](const char* what, int64_t bytes) {
    std::printf("  %-26s%12lld bytes  %s\n", what, static_cast<long long>(bytes),
                bytes_text(bytes).c_str());
  };
  std::printf("plan: a context of %lld tokens, %lld of a prompt read together\n",
              static_cast<long long>(context), static_cast<long long>(together));
  line("weights", weights);
  line("keys and values", cache);
  line("to read the prompt", reading);
  line("to write a token", writing);
  line("total", total());
}

Generator::Generator(const Module& model, GeneratorOptions options)
    : model_(model),
      options_(std::move(options)),
      cache_(model_, {.context = options_.context}),
      step_(reading(model_, cache_)),
      device_(cache_.device()) {
  for (const int64_t tokens : options_.reads)
    check<ValueError>(1 <= tokens && tokens <= options_.context,
                      "generator: so many tokens cannot be read: ", tokens, " in a context of ",
                      options_.context, ". Use 1 to ", options_.context, ".");
  plan_reads();
}

Metas Generator::inputs(int64_t tokens, Device device) {
  return {{{1, tokens}, DType::i64, device}, {{tokens}, DType::i64, device}};
}

int64_t Generator::bytes_of_reads(int64_t together) {
  int64_t most = 0;
  for (const int64_t tokens : options_.reads)
    for (const int64_t run : {std::min(tokens, together), tokens % together})
      if (run > 0) {
        const Plan& plan = step_.plan(inputs(run, device_));
        most = std::max(most, plan.total_bytes() - plan.pinned_bytes);
      }
  return most;
}

void Generator::plan_reads() {
  const Plan& one = step_.plan(inputs(1, device_));
  plan_.context = options_.context;
  plan_.cache = cache_.bytes();
  plan_.weights = one.pinned_bytes - plan_.cache;
  plan_.writing = one.total_bytes() - one.pinned_bytes;
  plan_.together = std::accumulate(options_.reads.begin(), options_.reads.end(), int64_t{1},
                                   [](int64_t a, int64_t b) { return std::max(a, b); });
  const int64_t budget = options_.budget;
  while (true) {
    plan_.reading = bytes_of_reads(plan_.together);
    if (budget == StepOptions::kNoBudget || plan_.total() <= budget) return;
    if (plan_.together == 1) break;
    plan_.together = (plan_.together + 1) / 2;
  }
  const int64_t each = plan_.cache / options_.context;
  const int64_t fits = (budget - plan_.total() + plan_.cache) / each;
  const int64_t longest = options_.reads.empty() ? 1 : std::ranges::max(options_.reads);
  fail<BudgetError>("generator: the budget is too small: ", budget, " bytes, and a context of ",
                    options_.context, " tokens takes ", plan_.total(), ". Allow that many",
                    fits >= longest ? cat(", or use a context of ", fits) : "", ".");
}

std::vector<float> Generator::read(std::span<const int64_t> tokens) {
  check<ValueError>(!tokens.empty(), "generator: there is nothing to read. Give a token or more.");
  const auto n = static_cast<int64_t>(tokens.size());
  check<ValueError>(n <= options_.context - position_,
                    "generator: the context is full: ", position_, " of ", options_.context,
                    " tokens were read, and ", n, " more are given. Restart, or use a larger one.");
  std::vector<float> logits;
  for (int64_t begin = 0; begin < n; begin += plan_.together) {
    const int64_t run = std::min(plan_.together, n - begin);
    std::vector<int64_t> places(static_cast<size_t>(run));
    std::iota(places.begin(), places.end(), position_ + begin);
    const MemoryScope scope(MemoryClass::input);
    const Metas metas = inputs(run, device_);
    const Tensor ids = Tensor::of(tokens.subspan(static_cast<size_t>(begin), places.size()),
                                  metas[0].shape, device_);
    const Tensor positions = Tensor::of(std::span<const int64_t>(places), metas[1].shape, device_);
    const Tensor result = step_(ids, positions);
    if (begin + run == n) logits = result.to_vector<float>();
  }
  position_ += n;  // when all of it was read: rows behind the position do not count
  return logits;
}

}  // namespace plimsoll::nn
