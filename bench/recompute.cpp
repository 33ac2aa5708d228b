// What recompute costs: six nets, each planned for shares of the memory it takes when all is kept,
// beside what people do by hand: one checkpoint per block, and one per about sqrt(n) blocks; and
// beside what a textbook's tool would do: about sqrt(n) segments of the instructions, whatever
// blocks they belong to.
//
//   bench/recompute                    // plans only: added time predicted from measured op times
//   bench/recompute --run 60           // also runs: median of 60 steps with and without
//   bench/recompute --run 60 --only resnet56 --ratio 0.5    // one row
//   bench/recompute --run 20 --times 4    // with batches four times as large
//
// "arena" is what a step holds besides parameters, optimizer state and inputs. Ratios are of its
// size without recompute; times are in parts of the step that keeps all. "again": what the
// instructions take that run again, predicted and measured; "at least" is the
// certificate: no plan in that memory repeats less. "added": how much longer the whole step takes,
// predicted and measured: less, as a smaller arena makes the rest faster. In brackets the medians
// of the first and of the second half of the steps: how far the measurement can be trusted.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "autograd/gradients.h"
#include "bench/median.h"
#include "bench/nets.h"
#include "core/engine/trace.h"
#include "examples/common/command_line.h"
#include "memory/passes/early_update.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/recompute/program.h"
#include "memory/recompute/segments.h"
#include "memory/step/passes.h"
#include "memory/step/replay.h"
#include "ops/ops.h"
#include "optim/sgd.h"

using namespace plimsoll;
using namespace plimsoll::bench;

namespace {

StepFunction training(const Subject& subject, optim::SGD& optimizer) {
  return [&](std::span<const Tensor> in) {
    const Tensor y = subject.net->forward(in[0], nn::training(in[1]));
    const Tensor loss = mean(y * y);
    optimizer.update(gradients(loss, optimizer.parameters()));
    return std::vector{loss};
  };
}

// Of a program in the arena that is planned for it.
double predicted_seconds(const Program& program) {
  const double farness = arena_farness(make_plan(program).arena_bytes);
  double seconds = 0;
  for (const Cost& cost : instruction_costs(program, CostModel::measured))
    seconds += cost.at(farness);
  return seconds;
}

// A program in an arena of its own.
class Run {
 public:
  explicit Run(const PlannedProgram& planned)
      : arena_(Storage::allocate(Device::cpu, planned.plan.arena_bytes, MemoryClass::arena, "run")),
        replay_(planned.program, planned.plan) {
    replay_.bind(arena_->data());
  }

  // Of the second of two steps: the first finds in the caches what the other program left there.
  double seconds(std::span<const Tensor> inputs) {
    replay_.run(inputs);
    const auto start = std::chrono::steady_clock::now();
    replay_.run(inputs);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  // Of each instruction in one more step.
  std::vector<double> seconds_of_each(std::span<const Tensor> inputs) {
    return replay_.seconds_of_each(inputs);
  }

 private:
  std::shared_ptr<Storage> arena_;
  Replay replay_;
};

// In parts of the step that keeps all.
struct Measured {
  std::vector<double> added;  // of each round
  double again;               // the sum of the medians of what runs again
};

// Steps within a budget against steps that keep all, in turns. Where the pages of an arena lie
// makes a difference of some per cent, so after some rounds others are taken, and a round goes
// first until the caches have settled.
Measured measure(const PlannedProgram& all, const PlannedProgram& planned,
                 std::span<const Tensor> inputs, int rounds) {
  constexpr int kRoundsThere = 5;
  Measured measured{};
  std::vector<std::vector<double>> again;  // of each instruction, those of each round
  std::vector<double> bases;
  while (std::ssize(bases) < rounds) {
    const AllocatorScope scope(std::make_shared<PooledAllocator>(host_provider()));
    Run keeps(all), repeats(planned);
    for (int i = -1; i < kRoundsThere && std::ssize(bases) < rounds; ++i) {
      const double base = keeps.seconds(inputs), more = repeats.seconds(inputs);
      const std::vector<double> each = repeats.seconds_of_each(inputs);
      if (i < 0) continue;
      bases.push_back(base);
      measured.added.push_back(more / base - 1);
      again.resize(each.size());
      for (size_t k = 0; k < each.size(); ++k) again[k].push_back(each[k]);
    }
  }
  for (size_t k = 0; k < again.size(); ++k) {
    const std::vector<Operand>& out = planned.program.instructions[k].out;
    if (!out.empty() && out[0].buffer >= std::ssize(all.program.buffers))  // a repetition's own
      measured.again += median(again[k]) / median(bases);
  }
  return measured;
}

struct Options {
  int rounds = 0;  // steps to measure; 0: none
  int times = 1;   // as large batches as usual
  std::string only;
  std::vector<double> ratios{0.7, 0.5, 0.3, 0.2};
};

void print_table(const Subject& subject, const Options& options) {
  optim::SGD optimizer(subject.net->parameters(), {.learning_rate = 1e-3});
  const StepFunction function = training(subject, optimizer);
  const std::vector inputs{subject.x, make_key(1, 0)};
  const Metas metas{inputs[0].meta(), inputs[1].meta()};
  const auto program = [&](size_t group) {
    subject.checkpoint(group);
    Program captured = capture_live(function, metas);
    subject.checkpoint(0);
    return captured;
  };

  const Program keep = program(0);
  instruction_costs(keep, CostModel::measured);  // once: planning is timed without
  const auto start = std::chrono::steady_clock::now();
  const BudgetPlanner planner = budget_planner(keep, {});
  planner.plan_within((planner.smallest() + planner.largest()) / 2);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // As a program has it that asks for one budget.
  const auto plan_within = [&](int64_t bytes) {
    return budget_planner(keep, {}).plan_within(bytes);
  };
  const PlannedProgram keeps = planner.plan_within(planner.largest());
  const Plan& all = keeps.plan;
  const double base = planner.keep_seconds();
  const int64_t outside = planner.largest() - all.arena_bytes;
  std::printf("\n%s: %zu instructions, arena %.1f MiB, planned in %.1f s, %.0f ms a step\n",
              subject.name.c_str(), keep.instructions.size(),
              static_cast<double>(all.arena_bytes) / (1 << 20), seconds, 1e3 * base);
  for (const double ratio : options.ratios) {
    const auto arena = static_cast<int64_t>(ratio * static_cast<double>(all.arena_bytes));
    try {
      const PlannedProgram planned = plan_within(outside + arena);
      const Recompute& r = planned.plan.recompute;
      const auto percent = [&](double seconds) { return 100 * seconds / base; };
      std::printf("  at %.2f: again %5.1f %%", ratio, percent(r.repeated_seconds));
      if (options.rounds == 0) {
        std::printf(", at least %4.1f  added %5.1f %%\n", percent(r.least_repeated_seconds),
                    percent(r.added_seconds));
        continue;
      }
      const auto [added, again] = measure(keeps, planned, inputs, options.rounds);
      const auto half = static_cast<int64_t>(added.size() / 2);
      std::printf(", measured %5.1f, at least %4.1f  added %5.1f %%, measured %5.1f (%.1f, %.1f)\n",
                  100 * again, percent(r.least_repeated_seconds), percent(r.added_seconds),
                  100 * median(added), 100 * median({added.begin(), added.end() - half}),
                  100 * median({added.begin() + half, added.end()}));
    } catch (const BudgetError&) {
      std::printf(
          "  at %.2f: not possible; the smallest is %.2f\n", ratio,
          static_cast<double>(planner.smallest() - outside) / static_cast<double>(all.arena_bytes));
    }
    std::fflush(stdout);
  }
  const auto beside = [&](const std::string& what, int64_t arena, double added) {
    const Recompute ours = plan_within(outside + arena).plan.recompute;
    std::printf("  %-22s at %.2f: +%5.1f %%, ours there +%5.1f %%\n", what.c_str(),
                static_cast<double>(arena) / static_cast<double>(all.arena_bytes), 100 * added,
                100 * ours.added_seconds / base);
  };
  const auto by_hand = [&](const std::string& what, size_t group) {
    const Program other = update_early(program(group));
    beside(what, make_plan(other).arena_bytes, predicted_seconds(other) / base - 1);
  };
  by_hand("checkpoint per block", 1);
  if (subject.blocks > 0) {
    const auto group = static_cast<size_t>(std::sqrt(static_cast<double>(subject.blocks)));
    by_hand(cat("checkpoint per ", group), group);
  }
  // Of up to about 2 sqrt(n) segments of instructions, the number that takes least memory.
  const Program early = update_early(keep);
  std::vector<double> costs;
  for (const Cost& cost : instruction_costs(early, CostModel::measured))
    costs.push_back(cost.at(kFarthest));
  const recompute::Timeline timeline(recompute::problem_of(early, costs));
  recompute::Simulator simulator(timeline);
  const auto peak = [&](const recompute::Choices& choices) { return simulator.run(choices).peak; };
  const std::vector<recompute::Choices> plans = recompute::segment_plans(timeline);
  const recompute::Choices& best = *std::ranges::min_element(plans, {}, peak);
  const Program segments = recompute::rewrite(early, simulator.schedule(best));
  beside("sqrt(n) segments", make_plan(segments).arena_bytes,
         predicted_seconds(segments) / base - 1);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  double ratio = 0;
  CommandLine app{"What recompute costs: six nets within shares of their memory."};
  app.add_option("--run", options.rounds, "Steps to measure; 0: only plans")
      ->check(whole_number(0, kMany));
  app.add_option("--times", options.times, "As large batches as usual")
      ->check(whole_number(1, kLargestBatch));
  app.add_option("--only", options.only, "Nets whose names begin like this");
  app.add_option("--ratio", ratio, "One share, and not 0.7, 0.5, 0.3 and 0.2")
      ->check(positive_number());
  try {
    app.parse(argc, argv);
  } catch (const Exit& exit) {
    return exit.print();
  }
  if (ratio > 0) options.ratios = {ratio};
  nn::Initializer init{.seed = 1};
  std::string names;
  bool found = false;
  const auto print_asked = [&](const Subject& subject) {
    names += cat(names.empty() ? "\"" : ", \"", subject.name, "\"");
    if (!subject.name.starts_with(options.only)) return;
    found = true;
    print_table(subject, options);
  };
  print_asked(gpt(12, 4 * options.times, init));
  for (const int64_t depth : {20, 56, 110}) print_asked(resnet(depth, 32 * options.times, init));
  print_asked(unet(8 * options.times, init));
  print_asked(densenet(16 * options.times, init));
  if (found) return 0;
  return Exit{2, cat("--only: no net has a name that begins like this: ", options.only,
                     ". There are ", names, ".\n")}
      .print();
}
