#include "examples/measure/rank_comparison.h"

#include <algorithm>
#include <cstdio>

#include "core/base/hash.h"
#include "core/ranks/ranks.h"
#include "examples/common/synthetic.h"
#include "examples/measure/comparison_table.h"
#include "memory/pool/pooled_allocator.h"
#include "ops/ops.h"
#include "train/runner.h"

namespace plimsoll::examples {
namespace {

data::Batch draw_batch(const FitModel& model, int64_t batch, uint64_t seed) {
  if (model.name == "textcls") {
    const TextClassifierSize size;
    return synthetic_passages(size.vocabulary, size.classes, batch, size.context, seed,
                              Device::cpu);
  }
  if (std::ranges::find(text_model_names(), model.name) == text_model_names().end())
    return synthetic_images(model.image, batch, seed, Device::cpu);
  const GptSize size = gpt_size_named(model.name);
  return synthetic_tokens(size.vocabulary, batch, size.context, seed, Device::cpu);
}

// x, y and key. What drawing takes besides is outside of the pool.
std::vector<Tensor> draw_inputs(const RankCase& c, uint64_t seed, uint64_t number) {
  const data::Batch drawn = [&] {
    const AllocatorScope outside(unplanned_pool());
    return draw_batch(c.model, c.batch, seed + number);
  }();
  const MemoryScope scope(MemoryClass::input);
  return {clone(drawn.x), clone(drawn.y), make_key(seed, number, Device::cpu)};
}

StepFunction function_of(const ModelStep& step) {
  return [&step](std::span<const Tensor> in) { return step(in); };
}

// Of losses of each rank, in each step: by step and batch, whoever trained it.
uint64_t digest_of(const std::vector<float>& losses, int64_t ranks, int64_t steps) {
  const auto own = static_cast<int64_t>(losses.size()) / ranks, runs = own / steps;
  uint64_t hash = kFnvStart;
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t rank = 0; rank < ranks; ++rank)
      hash = fnv1a(std::as_bytes(std::span(losses).subspan(
                       static_cast<size_t>(rank * own + step * runs), static_cast<size_t>(runs))),
                   hash);
  return hash;
}

// As many windows as `steps`, as the trainer runs them, in a pool of their own.
void measure_here(RankRow& row, int steps, uint64_t seed) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  ModelStep function(row.c.model, row.c.precision, Device::cpu);
  optim::Accumulation& window = function.step().window();
  train::Runner runner(function_of(function), /*captured=*/true, {}, &window);
  pool->reset_peak();  // a model was made whole, and then shared out
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    const optim::RankShare share = function.step().prepare_window(step * row.c.model.accumulate);
    for (int64_t run = 0; run < share.runs; ++run) {
      window.at(run, share.runs);
      const auto number = static_cast<uint64_t>(share.first + run);
      const std::vector<Tensor> inputs = draw_inputs(row.c, seed, number);
      losses.push_back(static_cast<float>(runner.run(inputs)[0].item()));
    }
  }
  const int64_t peak = pool->stats().peak.bytes;
  Ranks* const ranks = Ranks::current();
  row.measured_bytes = ranks ? gathered(*ranks, peak) : std::vector{peak};
  row.digest = digest_of(ranks ? gathered(*ranks, losses) : losses, ranks_now(), steps);
}

}  // namespace

FitModel shared_model(const std::string& name, int64_t accumulate) {
  FitModel model{.name = name, .accumulate = accumulate};
  if (name == "gpt2-124M") model.context = kGpt2.context;
  if (std::ranges::find(text_model_names(), name) == text_model_names().end())
    model.image = own_images(name);
  return model;
}

RankRow compare_ranks(const RankCase& c, int steps, uint64_t seed) {
  RankRow row{.c = c};
  const ModelStep planned(c.model, c.precision);
  Step step(function_of(planned));
  const Plan& plan = step.plan(planned.inputs(c.batch));
  row.planned_bytes = plan.total_bytes();
  row.at_peak = plan.at_peak;
  if (c.model.ranks == ranks_now()) measure_here(row, steps, seed);
  return row;
}

bool keeps_ranks_promises(const RankRow& row) {
  return row.same_bits && std::ranges::all_of(row.measured_bytes, [&](int64_t measured) {
           return measured == row.planned_bytes;
         });
}

void print_rank_head() {
  std::printf("%-8s %5s %-4s %5s %5s %8s %8s | %7s %7s %7s %7s %7s %7s | %s\n", "model", "batch",
              "type", "ranks", "shard", "planned", "measured", "params", "gather.", "grads",
              "optim.", "activ.", "other", "same bits");
}

void print_rank_row(const RankRow& row) {
  const auto& [model, precision, batch] = row.c;
  const bool measured = !row.measured_bytes.empty();
  std::string text = ' ' + cell(row.planned_bytes, 8) + ' ' +
                     cell(measured ? std::ranges::max(row.measured_bytes) : 0, 8, measured) + " |";
  const auto bytes = [&](MemoryClass k) { return row.at_peak[static_cast<size_t>(k)]; };
  for (const MemoryClass k : {MemoryClass::parameter, MemoryClass::gathered, MemoryClass::gradient,
                              MemoryClass::optimizer, MemoryClass::activation})
    text += ' ' + cell(bytes(k), 7);
  text += ' ' + cell(bytes(MemoryClass::workspace) + bytes(MemoryClass::input), 7);
  std::printf("%-8s %5lld %-4s %5lld %5lld%s | %s\n", model.name.c_str(),
              static_cast<long long>(batch), name_of(precision),
              static_cast<long long>(model.ranks), static_cast<long long>(model.shard),
              text.c_str(),
              !measured       ? "-"
              : row.same_bits ? "yes"
                              : "NO");
  std::fflush(stdout);
}

Json to_json(const RankRow& row) {
  const bool measured = !row.measured_bytes.empty();
  return {{"model", row.c.model.name},
          {"batch", row.c.batch},
          {"precision", name_of(row.c.precision)},
          {"ranks", row.c.model.ranks},
          {"shard", row.c.model.shard},
          {"accumulate", row.c.model.accumulate},
          {"planned_bytes", row.planned_bytes},
          {"at_peak_bytes", to_json(row.at_peak)},
          {"measured_bytes", measured ? Json(row.measured_bytes) : Json()},
          {"loss_digest", measured ? Json(cat(row.digest)) : Json()},
          {"same_bits", measured ? Json(row.same_bits) : Json()}};
}

}  // namespace plimsoll::examples
