// Parameters of which ranks have parts are gathered where they are needed, a few at a time.
#include "memory/passes/gathers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/engine/trace.h"
#include "core/ranks/planned_ranks.h"
#include "memory/layout/plan.h"
#include "memory/passes/overlap_communication.h"
#include "ops/ops.h"

namespace plimsoll {
namespace {

// What layers do with parts of their parameters, all of which are gathered first.
struct Layers {
  explicit Layers(int64_t n) {
    for (int64_t i = 0; i < n; ++i) parts.push_back(ones({kPart}));
  }
  std::vector<Tensor> gathered() const {
    const MemoryScope scope(MemoryClass::gathered);
    std::vector<Tensor> all;
    for (const Tensor& part : parts) all.push_back(reshape(all_gather(part), {2 * kPart}));
    return all;
  }
  // Forward through all layers, and back again.
  StepFunction there_and_back() const {
    return [this](std::span<const Tensor> in) {
      const std::vector<Tensor> all = gathered();
      Tensor x = in[0];
      for (const Tensor& w : all) x = exp(x + w);
      for (size_t i = all.size(); i-- > 0;) x = sin(x * all[i]);
      return std::vector{x};
    };
  }
  static constexpr int64_t kPart = 1000;
  std::vector<Tensor> parts;
};

Program captured(const StepFunction& f) {
  static PlannedRanks ranks(0, 2);
  const RanksScope scope(&ranks);
  return capture(f, std::array{Meta{{2 * Layers::kPart}}});
}

std::vector<std::string> names(const Program& program) {
  std::vector<std::string> all;
  for (const Instruction& instruction : program.instructions)
    all.emplace_back(instruction.op->name);
  return all;
}

int64_t gathers(const Program& program) {
  return std::ranges::count(names(program), std::string("all_gather"));
}

using Names = std::vector<std::string>;

TEST(Gathers, ComeWhereTheyAreNeededFirst) {
  const Layers layers(2);
  const Program before = captured(layers.there_and_back());
  EXPECT_EQ(names(before), (Names{"all_gather", "all_gather", "add", "exp", "add", "exp", "mul",
                                  "sin", "mul", "sin"}));
  EXPECT_EQ(names(gather_late(before)), (Names{"all_gather", "add", "exp", "all_gather", "add",
                                               "exp", "mul", "sin", "mul", "sin"}));
}

// Of 6 layers the last three are still there when the way back begins.
TEST(Gathers, ComeAgainOnTheWayBack) {
  const Layers layers(6);
  const Program before = captured(layers.there_and_back());
  const Program again = gather_again(before);
  EXPECT_EQ(gathers(gather_late(before)), 6);
  EXPECT_EQ(gathers(again), 6 + 3);
  const auto held = [](const Program& program) {
    return make_plan(program).at_peak[static_cast<size_t>(MemoryClass::gathered)];
  };
  const int64_t one = 8 * Layers::kPart;
  EXPECT_GE(held(gather_late(before)), 5 * one);
  EXPECT_LE(held(again), 3 * block_bytes(one));
}

// While a layer computes, what the next one needs is on its way.
TEST(Gathers, StartWhenTheOneBeforeIsThere) {
  const Layers layers(3);
  EXPECT_EQ(names(overlap_communication(gather_late(captured(layers.there_and_back())))),
            (Names{"start_all_gather", "wait_all_gather", "start_all_gather", "add", "exp",
                   "wait_all_gather", "start_all_gather", "add", "exp", "wait_all_gather", "add",
                   "exp", "mul", "sin", "mul", "sin", "mul", "sin"}));
}

// One op may need two of them, as a convolution a weight and a bias.
TEST(Gathers, StartOnceEach) {
  const Layers layers(3);
  const Program beside =
      overlap_communication(gather_late(captured([&](std::span<const Tensor> in) {
        const std::vector<Tensor> all = layers.gathered();
        return std::vector{exp(in[0] + maximum(all[0], all[1])) * all[2]};
      })));
  EXPECT_EQ(names(beside),
            (Names{"start_all_gather", "start_all_gather", "wait_all_gather", "wait_all_gather",
                   "start_all_gather", "maximum", "add", "exp", "wait_all_gather", "mul"}));
}

// What is there before its part is updated is not gathered anew behind that.
TEST(Gathers, StartBeforeTheirPartsChange) {
  const Layers layers(2);
  const Tensor rate = ones({}, {DType::f64}), steps = ones({}, {DType::i64});
  const Program beside = overlap_communication(captured([&](std::span<const Tensor> in) {
    const std::vector<Tensor> all = layers.gathered();
    for (const size_t i : {1, 0})
      sgd_update(layers.parts[i], slice(in[0], 0, 0, Layers::kPart), {}, steps, rate);
    return std::vector{exp(in[0] + all[0]), exp(in[0] + all[1])};
  }));
  EXPECT_EQ(names(beside),
            (Names{"start_all_gather", "start_all_gather", "wait_all_gather", "sgd_update",
                   "wait_all_gather", "sgd_update", "add", "exp", "add", "exp"}));
}

// A copy in 16 bits is made again with what it is a copy of, which does not stay for it.
TEST(Gathers, TakeWithThemWhatIsMadeOfThemAlone) {
  const Layers layers(6);
  const Program again = gather_again(captured([&](std::span<const Tensor> in) {
    std::vector<Tensor> narrow;
    for (const Tensor& w : layers.gathered()) narrow.push_back(cast(w, DType::bf16));
    Tensor x = cast(in[0], DType::bf16);
    for (const Tensor& w : narrow) x = exp(x + w);
    for (size_t i = narrow.size(); i-- > 0;) x = sin(x * narrow[i]);
    return std::vector{x};
  }));
  EXPECT_EQ(gathers(again), 6 + 3);
  EXPECT_EQ(std::ranges::count(names(again), std::string("cast")), 1 + 6 + 3);
}

// What other ranks would see change, or what is no parameter, stays where it is.
TEST(Gathers, StayWhereTheirPartsChange) {
  const Layers layers(2);
  const Tensor rate = ones({}, {DType::f64}), steps = ones({}, {DType::i64});
  const StepFunction changes = [&](std::span<const Tensor> in) {
    const std::vector<Tensor> all = layers.gathered();
    sgd_update(layers.parts[1], slice(in[0], 0, 0, Layers::kPart), {}, steps, rate);
    return std::vector{exp(in[0] + all[0]), exp(in[0] + all[1])};
  };
  EXPECT_EQ(names(gather_late(captured(changes))),
            (Names{"all_gather", "sgd_update", "all_gather", "add", "exp", "add", "exp"}));
  const StepFunction others = [&](std::span<const Tensor> in) {
    const Tensor y = all_gather(layers.parts[0]);
    return std::vector{exp(in[0]), y};
  };
  EXPECT_EQ(names(gather_again(captured(others))), (Names{"all_gather", "exp"}));
}

}  // namespace
}  // namespace plimsoll
