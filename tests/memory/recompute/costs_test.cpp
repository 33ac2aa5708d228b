// Which instructions are measured by themselves (memory/recompute/costs.h), told by an op that notes which of
// its inputs lie in one place.
#include "memory/recompute/costs.h"

#include <algorithm>

#include "ops/ops.h"
#include "optim/sgd.h"
#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

std::string runs;  // "aac ": the first two of three are one

constexpr OpDef noting_op{.name = "noting", .infer = same_as_input, .cpu = [](const Call& call) {
                            std::string run;
                            for (const View& x : call.in) {
                              const auto same = [&](const View& y) { return y.data == x.data; };
                              const auto first = std::ranges::find_if(call.in, same);
                              run += static_cast<char>('a' + (first - call.in.begin()));
                            }
                            if (!runs.ends_with(run + " ")) runs += run + " ";
                          }};

// What one input costs when it is far says nothing of another instruction, where two are one.
TEST(MemoryCosts, OnceForInputsThatShareTheirMemoryAlike) {
  const Program program = capture(
      [](std::span<const Tensor> in) {
        const Tensor &x = in[0], &y = in[1], &z = in[2];
        std::vector<Tensor> results;
        for (const auto& [a, b, c] :
             {std::array{x, y, z}, std::array{x, x, y}, std::array{x, y, x}, std::array{x, y, y},
              std::array{x, x, x}, std::array{z, y, z}, std::array{y, y, z}, std::array{y, z, x}})
          results.push_back(apply1(noting_op, {a, b, c}));
        return results;
      },
      Metas(3, vec(64, Device::cpu)));
  const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
  const std::string kinds = "abc aac aba abb aaa ";
  EXPECT_EQ(runs, kinds + kinds);  // all of them, then once more
  for (const auto& [again, first] : {std::pair(5, 2), std::pair(6, 1), std::pair(7, 0)})
    EXPECT_EQ(costs[again], costs[first]);
}

// What an optimizer writes into stays as it is, weights that decay and the step count too; what is
// there in its place takes no more than other ops need.
TEST(MemoryCosts, UpdatesAreMeasuredOnOtherNumbers) {
  constexpr int64_t n = 1 << 14;
  const Tensor weight = Tensor::of<float>(std::vector<float>(n, 7), {n});
  optim::SGD sgd({weight}, {.learning_rate = 0.5, .weight_decay = 0.5});
  sgd.update(std::array{zeros({n})});
  const std::vector<float> before = weight.to_vector<float>();
  // The last instruction that writes in place, and what the model says of it.
  const auto cost_of_update = [&](bool alone) {
    const Program program = capture(
        [&](std::span<const Tensor> in) {
          sgd.update(in);
          return alone ? std::vector{in[0]} : split(in[0]);
        },
        Metas{vec(n, Device::cpu)});
    const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
    size_t i = program.instructions.size() - 1;
    while (!program.instructions[i].op->mutates) --i;
    EXPECT_EQ(program.buffers[program.instructions[i].in[0].buffer].bytes, 4 * n);
    return std::pair(costs[i], modelled_seconds(program.instructions[i]));
  };
  const auto [guessed, model] = cost_of_update(true);
  EXPECT_EQ(guessed, (Cost{.near = model, .far = model, .later = {}}));
  const Cost measured = cost_of_update(false).first;
  EXPECT_FALSE(measured.later.empty());
  EXPECT_GT(measured.near, 0);
  EXPECT_EQ(cost_of_update(true).first, measured);  // it is known
  EXPECT_EQ(weight.to_vector<float>(), before);
}

// Each time by itself, the one with a place far as a whole: not how much longer that was than near.
TEST(MemoryCosts, OfTwoMeasurementsTheLesserTimesCount) {
  const Cost quiet{.near = 1, .far = 2, .later = {1, 0.5, 0}, .shared = 0.5};
  const Cost disturbed{.near = 2, .far = 2, .later = {0, 0, 0}, .shared = 0};
  for (const Cost& less : {lesser(quiet, disturbed), lesser(disturbed, quiet)})
    EXPECT_EQ(less, quiet);
  EXPECT_EQ(lesser({.near = 2, .far = 4, .later = {0.5, 2}, .shared = 1},
                   {.near = 1, .far = 5, .later = {3, 2}, .shared = 2.5}),
            (Cost{.near = 1, .far = 4, .later = {1.5, 2}, .shared = 2}));
}

}  // namespace
}  // namespace plimsoll
