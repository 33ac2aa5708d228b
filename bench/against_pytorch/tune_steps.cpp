// Steps of fine-tuning a published model: one side of the comparison with PyTorch and PEFT.
//
//   tune_steps --model DIR --batches FILE --lora 16 --base nf4 --budget-percent 70
//
// For each number n on a line of stdin it runs n captured steps of AdamW and answers with one line
// of JSON, as train_steps does; beside that "planned", bytes, and "held", what was in the pool at
// most and what is mapped. FILE is safetensors: x and y, i64 [N, B, T], used in turn.
#include "autograd/gradients.h"
#include "bench/against_pytorch/answer.h"
#include "examples/common/options.h"
#include "examples/models/tuning.h"
#include "formats/safetensors.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"

namespace plimsoll::examples {
namespace {

struct TuneOptions : Options {
  Tuning tuning;
  std::string batches;
  int64_t budget_percent = 100;
};

void serve(TuneOptions& options) {
  const int64_t start_kib = peak_kib();
  PooledAllocator& pool = *default_pool(Device::cpu);
  pool.set_limit(PooledAllocator::kUnlimited - 1);  // exact from here on
  const formats::Safetensors file(options.batches);
  std::vector<std::pair<Tensor, Tensor>> batches;
  const Meta all = file.meta("x");
  const Shape shape{all.shape[1], all.shape[2]};
  for (int64_t i = 0; i < all.shape[0]; ++i) {
    const auto part = [&](const char* name) {
      return clone(reshape(slice(file.mapped(name), 0, i, i + 1), shape));
    };
    batches.emplace_back(part("x"), part("y"));
  }
  options.tuning.config = published::read_config(options.model);
  nn::Initializer init{.seed = options.seed};
  const int64_t before = pool.stats().in_use;
  const auto model =
      published::load(options.model, init, decoder_options(options.tuning, shape[1]));
  const int64_t mapped = model->bytes() - (pool.stats().in_use - before);
  const std::vector<Tensor> parameters = model->parameters();
  optim::AdamW optimizer(parameters, {.learning_rate = 1e-4});
  const auto train = [&](const Tensor& x, const Tensor& y) {
    const Tensor loss = model->loss((*model)(x, nn::training()), y);
    optimizer.update(gradients(loss, parameters));
    return loss;
  };
  StepOptions with;
  if (options.budget_percent < 100)
    with.budget = Step(train).plan(batches[0].first, batches[0].second).total_bytes() *
                  options.budget_percent / 100;
  Step step(train, with);
  const int64_t planned = step.plan(batches[0].first, batches[0].second).total_bytes();
  const int64_t others =
      (std::ssize(batches) - 1) * 2 * block_bytes(bytes_of(batches[0].first.meta()));
  pool.reset_peak();
  size_t done = 0;
  const auto loss_of = [&](size_t i) {
    const auto& [x, y] = batches[i % batches.size()];
    return step(x, y).item();
  };
  const auto memory = [&] {
    return Json{{"peak_kib", peak_kib()},
                {"start_kib", start_kib},
                {"planned", planned},
                {"held", pool.stats().peak.bytes + mapped - others}};
  };
  for (int64_t n = 0; std::cin >> n;) answer(n, done, loss_of, memory);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  TuneOptions options;
  CommandLine app{"Steps of fine-tuning a published model, timed on request."};
  app.add_option("--model", options.model)->required();
  app.add_option("--batches", options.batches)->required();
  app.add_option("--threads", options.threads);
  app.add_option("--budget-percent", options.budget_percent)->check(whole_number(1, 100));
  add_tuning_options(app, options.tuning);
  return run_example(app, argc, argv, options, [&] { serve(options); });
}
