// Lifetimes, dead code and in-place folding on programs small enough to work out by hand.
#include "memory/layout/lifetimes.h"
#include "memory/passes/dead_code.h"
#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;
using In = std::span<const Tensor>;

Program of(const StepFunction& step, int inputs = 1) {
  return capture(step, Metas(static_cast<size_t>(inputs), vec(16)));
}
std::vector<std::string> names(const Program& program) {
  std::vector<std::string> all;
  for (const Instruction& instruction : program.instructions)
    all.emplace_back(instruction.op->name);
  return all;
}

TEST(MemoryLifetimes, AreHalfOpenFromFirstToLastUse) {
  const Program program = of([](In in) {
    Tensor a = flip(in[0]);                         // 0: buffer 1
    Tensor b = flip(a);                             // 1: buffer 2
    Tensor c = plus(rows(a, 0, 8), rows(b, 0, 8));  // 2: buffer 3, reads 1 and 2 through views
    split(c);                                       // 3: buffers 4 and 5, nobody reads them
    return std::vector{c, in[0]};                   // copied out at 4
  });
  const std::vector<Lifetime> expected{{0, 0}, {0, 3}, {1, 3}, {2, 5}, {3, 4}, {3, 4}};
  EXPECT_EQ(lifetimes(program), expected);
}

TEST(MemoryLifetimes, OnlyTemporariesHaveOne) {
  const Tensor outside = Tensor::empty(vec(16));
  const Program program = of([&](In in) { return std::vector{plus(in[0], outside)}; });
  const std::vector<Lifetime> expected{{0, 0}, {0, 0}, {0, 2}};
  EXPECT_EQ(lifetimes(program), expected);
}

TEST(MemoryDeadCode, GoesWithWhatOnlyItUses) {
  const Tensor used = Tensor::empty(vec(16)), unused = Tensor::empty(vec(16));
  Program program = of(
      [&](In in) {
        Tensor dead = scale(plus(in[0], unused), 3);  // a chain nobody reads
        flip(dead);
        return std::vector{plus(in[0], used)};
      },
      2);
  ASSERT_EQ(program.instructions.size(), 4u);
  program = remove_dead(std::move(program));
  EXPECT_EQ(names(program), (std::vector<std::string>{"plus"}));
  ASSERT_EQ(program.buffers.size(), 4u);  // both inputs, `used`, the result
  EXPECT_EQ(program.inputs.size(), 2u);
  EXPECT_EQ(program.buffers[2].storage, used.value().storage);
  EXPECT_EQ(program.instructions[0].in[1].buffer, 2);
  EXPECT_EQ(program.results[0].buffer, 3);
  EXPECT_EQ(unused.value().storage.use_count(), 1);  // no longer kept alive
}

TEST(MemoryDeadCode, WritesAndOneUsedOutputOfTwoStay) {
  const Tensor total = Tensor::empty(vec(16));
  const Program program = remove_dead(of([&](In in) {
    add_to(total, scale(in[0], 2));
    return std::vector{split(in[0])[1]};
  }));
  EXPECT_EQ(names(program), (std::vector<std::string>{"scale", "add_to", "split"}));
  EXPECT_TRUE(remove_dead(program) == program);  // nothing more to do
}

// The number of values of a step that lie on the memory of their input.
int folded(const StepFunction& step, int inputs = 1) {
  const Program program = of(step, inputs);
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> alias_root = fold_in_place(program, lives);
  int n = 0;
  for (size_t b = 0; b < alias_root.size(); ++b) n += alias_root[b] != static_cast<int>(b);
  return n;
}

TEST(MemoryInPlace, AChainLiesInOnePlace) {
  const Program program =
      of([](In in) { return std::vector{scale(scale(scale(flip(in[0]), 2), 3), 4)}; });
  std::vector<Lifetime> lives = lifetimes(program);
  EXPECT_EQ(fold_in_place(program, lives), (std::vector<int>{0, 1, 1, 1, 1}));
  const std::vector<Lifetime> expected{{0, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 5}};
  EXPECT_EQ(lives, expected);
}

TEST(MemoryInPlace, NeedsAValueThatNobodyElseNeeds) {
  EXPECT_EQ(folded([](In in) { return std::vector{scale(flip(in[0]), 2)}; }), 1);
  // not declared; an input; read again later; a result; read twice by the same instruction
  EXPECT_EQ(folded([](In in) { return std::vector{flip(flip(in[0]))}; }), 0);
  EXPECT_EQ(folded([](In in) { return std::vector{scale(in[0], 2)}; }), 0);
  EXPECT_EQ(folded([](In in) {
              Tensor a = flip(in[0]);
              Tensor b = scale(a, 2);
              return std::vector{flip(b), flip(a)};
            }),
            0);
  EXPECT_EQ(folded([](In in) {
              Tensor a = flip(in[0]);
              return std::vector{scale(a, 2), a};
            }),
            0);
  EXPECT_EQ(folded([](In in) {
              Tensor a = flip(in[0]);
              return std::vector{plus(a, a)};
            }),
            0);
  const Tensor outside = Tensor::empty(vec(16));
  EXPECT_EQ(folded([&](In) { return std::vector{scale(outside, 2)}; }), 0);
}

TEST(MemoryInPlace, NeedsTheWholeBuffer) {
  // Half of it, from the front or the back: the same 64 bytes of a block would do, but not here.
  EXPECT_EQ(folded([](In in) { return std::vector{scale(rows(flip(in[0]), 0, 8), 2)}; }), 0);
  EXPECT_EQ(folded([](In in) { return std::vector{scale(rows(flip(in[0]), 8, 16), 2)}; }), 0);
  EXPECT_EQ(folded([](In in) { return std::vector{scale(rows(flip(in[0]), 0, 16), 2)}; }), 1);
}

TEST(MemoryInPlace, NeedsAnElementOfItsOwnForEachResult) {
  constexpr OpDef repeat{
      .name = "repeat",
      .infer = [](std::span<const Meta>, const Attrs&) { return Metas{vec(16)}; },
      .inplace = 0};
  const auto narrow = [&](In in) { return apply(repeat, {flip(rows(in[0], 0, 1))}); };
  const auto part = [&](In in) { return apply(repeat, {rows(flip(in[0]), 0, 1)}); };
  EXPECT_EQ(folded(narrow), 0);  // 4 bytes and 64 bytes: one block each
  EXPECT_EQ(folded(part), 0);
}

TEST(MemoryInPlace, NeedsElementsOfOneSize) {
  constexpr OpDef widen{.name = "widen",
                        .infer =
                            [](std::span<const Meta>, const Attrs&) {
                              return Metas{{{8}, DType::f64, Device::null}};
                            },
                        .inplace = 0};  // 16 x f32 and 8 x f64 are both 64 bytes
  EXPECT_EQ(folded([&](In in) { return apply(widen, {flip(in[0])}); }), 0);
}

}  // namespace
}  // namespace plimsoll
