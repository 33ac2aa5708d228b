// Which rewrites stay where a plan would grow (memory/no_larger.h).
#include "memory/no_larger.h"

#include "memory/dead_code.h"
#include "memory/plan.h"
#include "tests/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;
using fusion::LeftOut;
using fusion::Rewrite;

struct Outcome {
  std::vector<int> kept;  // instructions
  int plans;              // searches, with one plan each
  bool operator==(const Outcome&) const = default;
};

// Of four values in a row each may be made with scratch, as others are left out, or with none.
Outcome outcome(const std::function<bool(int, const LeftOut&)>& needs_scratch) {
  const Program program = remove_dead(
      capture([](std::span<const Tensor> in) { return std::vector{flip(flip(flip(flip(in[0]))))}; },
              Metas{vec(256)}));
  Outcome result{{}, 0};
  const Program made = fusion::rewrite_no_larger(program, [&](const LeftOut& left_out) {
    ++result.plans;
    std::vector<Rewrite> rewrites;
    for (int i = 0; i < 4; ++i) {
      if (left_out.contains({i})) continue;
      Instruction instruction = program.instructions[i];
      instruction.attrs = Factor{};
      instruction.workspace = needs_scratch(i, left_out) ? 4096 : 0;
      rewrites.push_back({{i}, i, std::move(instruction)});
    }
    return rewrites;
  });
  EXPECT_LE(make_plan(made).arena_bytes, make_plan(program).arena_bytes);
  for (int i = 0; i < 4; ++i)
    if (made.instructions[i].attrs != Attrs{}) result.kept.push_back(i);
  return result;
}

TEST(NoLarger, AllStayWhereAllFit) {
  EXPECT_EQ(outcome([](int, const LeftOut&) { return false; }), (Outcome{{0, 1, 2, 3}, 1}));
}

TEST(NoLarger, WhatRunsAtThePeakIsLeftOut) {
  EXPECT_EQ(outcome([](int i, const LeftOut&) { return i == 2; }), (Outcome{{0, 1, 3}, 2}));
  // Three of four are tried again: with the last one the plan was too large just before.
  EXPECT_EQ(outcome([](int, const LeftOut&) { return true; }), (Outcome{{}, 8}));
}

// 1 needs scratch beside 2, and 2 always does.
TEST(NoLarger, WhatWasLeftOutIsTriedAgain) {
  EXPECT_EQ(outcome([](int i, const LeftOut& left_out) {
              return i == 2 || (i == 1 && !left_out.contains({2}));
            }),
            (Outcome{{0, 1, 3}, 4}));
}

// Each pair of instructions as one, where the first stands; and how many plans that takes.
struct Joined {
  Program program;
  int plans = 0;
};
Joined join_pairs(const Program& program, std::span<const std::pair<int, int>> pairs) {
  Joined result;
  result.program = fusion::rewrite_no_larger(program, [&](const LeftOut& left_out) {
    ++result.plans;
    std::vector<Rewrite> rewrites;
    for (const auto& [first, last] : pairs) {
      if (left_out.contains({first, last})) continue;
      Instruction both = program.instructions[first];
      both.out.push_back(program.instructions[last].out[0]);
      rewrites.push_back({{first, last}, first, std::move(both)});
    }
    return rewrites;
  });
  return result;
}

// The first and the third as one hold what they make while the second has its scratch. Nothing is
// there for the last two as one to make larger, far apart as they are.
TEST(NoLarger, WhatIsSpreadAroundThePeakIsLeftOut) {
  const Program program = remove_dead(capture(
      [](std::span<const Tensor> in) {
        std::vector<Tensor> results{flip(in[0]), scan(in[0]), flip(in[0])};
        for (int i = 0; i < 5; ++i) results.push_back(flip(in[1]));
        return results;
      },
      Metas{vec(256), vec(16)}));
  const auto [made, plans] = join_pairs(program, std::array{std::pair(0, 2), std::pair(3, 7)});
  EXPECT_EQ(plans, 2);
  ASSERT_EQ(made.instructions.size(), 7u);
  EXPECT_EQ(made.instructions[0].out.size(), 1u);
  EXPECT_EQ(made.instructions[3].out.size(), 2u);
}

// As add_to, with scratch.
constexpr OpDef update_op{.name = "update",
                          .infer = [](std::span<const Meta>, const Attrs&) { return Metas{}; },
                          .cpu = [](const Call&) {},
                          .mutates = bits(0),
                          .workspace = [](std::span<const Meta>, std::span<const Meta>,
                                          const Attrs&) -> int64_t { return 4096; }};

// The update at the peak stands among the last two, but runs as soon as its gradient is there.
TEST(NoLarger, AnUpdateAtThePeakIsWhereItRuns) {
  const Tensor state = Tensor::empty(vec(16));
  const Program program = remove_dead(capture(
      [&](std::span<const Tensor> in) {
        std::vector<Tensor> results{flip(in[0])};
        const Tensor gradient = flip(in[1]);
        results.push_back(flip(in[1]));
        results.push_back(flip(in[0]));
        for (int i = 0; i < 4; ++i) results.push_back(flip(in[1]));
        apply(update_op, {state, gradient});
        results.push_back(flip(in[1]));
        return results;
      },
      Metas{vec(256), vec(16)}));
  const auto [made, plans] = join_pairs(program, std::array{std::pair(0, 3), std::pair(4, 9)});
  EXPECT_EQ(plans, 2);
  ASSERT_EQ(made.instructions.size(), 9u);
  EXPECT_EQ(made.instructions[0].out.size(), 1u);
  EXPECT_EQ(made.instructions[4].out.size(), 2u);
}

}  // namespace
}  // namespace plimsoll
