// Fusion: which instructions become one, what they keep where, and what budgets make of it. That no
// bit changes is shown over all ops (suite_modes_test.cpp), over random programs
// (memory_random_programs_test.cpp, ops_fused_programs_test.cpp) and over trainings
// (examples_bits_test.cpp); that no plan grows, over random programs.
#include "memory/fusion/fuse.h"

#include "core/cpu/parallel.h"
#include "memory/budget.h"
#include "memory/dead_code.h"
#include "memory/fusion/fused.h"
#include "memory/plan.h"
#include "memory/pooled_allocator.h"
#include "memory/step.h"
#include "ops/sum/sum.h"
#include "tests/fused_kernels.h"
#include "tests/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;
using fusion::Fused;
using fusion::Layout;

Meta on_cpu(int64_t n) { return vec(n, Device::cpu); }

template <class F>
Program captured(F f, const Metas& metas) {
  return remove_dead(capture([&](std::span<const Tensor> in) { return f(in); }, metas));
}

// The ops in order: "scan plus+scale".
std::string names(const Program& program) {
  std::string text;
  for (const Instruction& i : program.instructions)
    text += cat(text.empty() ? "" : " ", i.op->name);
  return text;
}

template <class F>
std::string fused_names(F f, const Metas& metas, Fusion passes = kFuseAll) {
  return names(fuse(captured(f, metas), passes));
}

TEST(Fusion, ChainsBecomeOneInstruction) {
  const auto chain = [](auto in) { return std::vector{scale(plus(scale(in[0], 2), in[1]), 3)}; };
  EXPECT_EQ(fused_names(chain, {on_cpu(8), on_cpu(8)}), "scale+plus+scale");
  EXPECT_EQ(fused_names(chain, {on_cpu(8), on_cpu(8)}, {.rows = true}), "scale plus scale");
  EXPECT_EQ(fused_names(chain, {on_cpu(8), on_cpu(8)}, {}), "scale plus scale");
  EXPECT_EQ(fused_names(chain, {on_cpu(0), on_cpu(0)}), "scale plus scale");  // nothing to run
  EXPECT_EQ(fused_names(chain, {vec(8), vec(8)}), "scale plus scale");        // another device
}

TEST(Fusion, OpsThatAreNotPointwiseEndChains) {
  EXPECT_EQ(
      fused_names([](auto in) { return std::vector{scale(scale(flip(scale(in[0], 2)), 3), 4)}; },
                  {on_cpu(8)}),
      "scale flip scale+scale");
}

TEST(Fusion, OtherReadersNeedNotWait) {
  // flip stands between and reads what the first makes.
  EXPECT_EQ(fused_names(
                [](auto in) {
                  const Tensor a = scale(in[0], 2), b = flip(a);
                  return std::vector{scale(a, 3), b};
                },
                {on_cpu(8)}),
            "scale flip scale");
  // Behind both it does not matter: what they hand on is an output besides.
  EXPECT_EQ(fused_names(
                [](auto in) {
                  const Tensor a = scale(in[0], 2), b = scale(a, 3);
                  return std::vector{flip(a), b};
                },
                {on_cpu(8)}),
            "scale+scale flip");
}

TEST(Fusion, NothingIsReadAfterItWasChanged) {
  const Tensor state = ramp(8);
  EXPECT_EQ(fused_names(
                [&](auto in) {
                  const Tensor a = scale(state, 2);
                  add_to(state, in[0]);
                  return std::vector{scale(a, 3)};
                },
                {on_cpu(8)}),
            "scale add_to scale");
}

TEST(Fusion, PartsOfAValueAreNotHandedOn) {
  EXPECT_EQ(fused_names(
                [](auto in) {
                  const Tensor a = scale(in[0], 2);
                  return std::vector{plus(rows(a, 0, 4), rows(a, 4, 8))};
                },
                {on_cpu(8)}),
            "scale plus");
}

TEST(Fusion, LongChainsAreCut) {
  const Program program = fuse(captured(
                                   [](auto in) {
                                     Tensor x = in[0];
                                     for (int i = 0; i < 40; ++i) x = scale(x, 0.5f);
                                     return std::vector{x};
                                   },
                                   {on_cpu(8)}),
                               kFuseAll);
  ASSERT_EQ(program.instructions.size(), 3U);
  EXPECT_EQ(program.instructions[0].attrs.as<Fused>().members.size(), fusion::kMostMembers);
}

// A chain that may run in place needs no scratch: its values lie in its output, one over the other,
// and that on the input that dies.
TEST(Fusion, ChainsRunInPlace) {
  const Program program = fuse(captured(
                                   [](auto in) {
                                     const Tensor made = flip(in[0]);
                                     return std::vector{scale(plus(made, in[1]), 3)};
                                   },
                                   {on_cpu(800), on_cpu(800)}),
                               kFuseAll);
  EXPECT_EQ(names(program), "flip plus+scale");
  const Instruction& fused = program.instructions[1];
  EXPECT_EQ(fused.op->inplace, 0);
  EXPECT_EQ(fused.in[0].buffer, program.instructions[0].out[0].buffer);
  EXPECT_EQ(fused.workspace, 0);
  EXPECT_EQ(make_plan(program).arena_bytes, 3200);
}

// The same, when what dies comes second: plus may lie on its first input only.
TEST(Fusion, NothingIsOverwrittenThatIsStillRead) {
  const auto late = [](auto in) {
    const Tensor made = flip(in[0]);
    return std::vector{plus(scale(in[1], 3), made)};
  };
  const Program program = fuse(captured(late, {on_cpu(800), on_cpu(800)}), kFuseAll);
  EXPECT_EQ(names(program), "flip scale+plus");
  EXPECT_EQ(program.instructions[1].op->inplace, -1);
}

TEST(Fusion, ScratchIsPlanned) {
  // Two branches: one lies in the output, the other in a tile of scratch for each thread.
  const auto branches = [](auto in) { return std::vector{plus(scale(in[0], 2), scale(in[0], 3))}; };
  const int before = num_threads();
  set_num_threads(3);
  const Program plain = captured(branches, {on_cpu(100'000)});
  const Program program = fusion::rewrite(plain, fusion::find_groups(plain, kFuseAll));
  set_num_threads(before);
  ASSERT_EQ(names(program), "scale+scale+plus");
  EXPECT_EQ(program.instructions[0].attrs.as<Fused>().tile_columns, 4096);
  EXPECT_EQ(program.instructions[0].workspace, 3 * 4096 * 4);
}

// Where most is alive, a fused instruction would hold what its members hold one after another.
// A tree needs less when it is fused: budgets that only the fused step keeps are kept.
TEST(Fusion, BudgetsThatOnlyFusionKeeps) {
  const auto function = [](std::span<const Tensor> in) {
    const Tensor a = flip(in[0]), before = sum(a);
    const Tensor tree = sum(plus(scale(in[0], 2), scale(in[1], 3)));
    return std::vector{before, tree, sum(a)};
  };
  const Metas metas{on_cpu(100'000), on_cpu(100'000)};
  const Program plain = captured(function, metas), fused = fuse(plain, kFuseAll);
  const int64_t least = BudgetPlanner(fused, {}).smallest();
  ASSERT_LT(least, BudgetPlanner(plain, {}).smallest());
  const AllocatorScope scope(std::make_shared<PooledAllocator>(host_provider()));
  const std::vector inputs{ramp(100'000, 1), ramp(100'000, -5)};
  Step step(function, {.budget = least, .fusion = kFuseAll}), free(function);
  EXPECT_GT(step.plan(metas).recompute.repetitions, 0);
  const auto results = step.run(inputs), expected = free.run(inputs);
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_EQ(results[k].to_vector<float>(), expected[k].to_vector<float>());
}

TEST(Fusion, ThePlanIsWhatAPoolMeasures) {
  const auto function = [](const Tensor& x, const Tensor& y) {
    const Tensor a = plus(scale(flip(x), 2), scale(y, 3));
    return std::vector{scan(a), scale(plus(a, y), 4)};
  };
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const Tensor x = ramp(100'000, 1), y = ramp(100'000, -5);
  Step plain(function), fused(function, {.fusion = kFuseAll});
  EXPECT_LE(fused.plan(x, y).total_bytes(), plain.plan(x, y).total_bytes());
  EXPECT_LT(fused.plan(x, y).instructions, plain.plan(x, y).instructions);
  pool->reset_peak();
  const auto results = fused.run({x, y});
  EXPECT_EQ(pool->stats().peak.bytes, fused.plan(x, y).total_bytes());
  const auto expected = plain.run({x, y});
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_EQ(results[k].to_vector<float>(), expected[k].to_vector<float>());
}

// The matrix that an operand is laid beside.
struct Case {
  Shape shape, strides, out;
  Layout::Kind kind;
  int64_t columns;
};

TEST(Fusion, LayoutsOfOperands) {
  using enum Layout::Kind;
  const Case cases[] = {
      {{2, 3, 4}, {12, 4, 1}, {2, 3, 4}, full, 0},
      {{4}, {1}, {2, 3, 4}, column, 4},
      {{3, 4}, {4, 1}, {2, 3, 4}, column, 12},
      {{1, 3, 4}, {0, 4, 1}, {2, 3, 4}, column, 12},
      {{2, 1, 1}, {1, 1, 1}, {2, 3, 4}, row, 12},
      {{2, 3, 1}, {3, 1, 1}, {2, 3, 4}, row, 4},
      {{}, {}, {2, 3, 4}, scalar, 0},
      {{2, 3, 4}, {0, 0, 0}, {2, 3, 4}, scalar, 0},
      {{2, 1, 4}, {4, 4, 1}, {2, 3, 4}, other, 0},
      {{3, 1}, {1, 1}, {2, 3, 4}, other, 0},
      {{2, 3, 4}, {1, 2, 6}, {2, 3, 4}, other, 0},
      {{2, 3, 4}, {24, 8, 2}, {2, 3, 4}, other, 0},
      {{1, 1}, {1, 1}, {1, 1}, full, 0},
      {{5, 1}, {1, 1}, {5, 1}, full, 0},
      {{1}, {1}, {5, 1}, scalar, 0},
      {{2, 3, 4}, {4, 0, 1}, {2, 3, 4}, other, 0},
  };
  for (const Case& c : cases) {
    const Layout layout = fusion::layout_of({0, {c.shape}, c.strides}, c.out);
    EXPECT_EQ(layout.kind, c.kind) << cat(c.shape, " ", c.strides, " in ", c.out);
    EXPECT_EQ(layout.columns, c.columns) << cat(c.shape, " in ", c.out);
  }
}

TEST(Fusion, MatricesAreCutIntoTiles) {
  const auto tile = [](int64_t rows, int64_t columns, bool whole_rows = false) {
    const fusion::TileSize size = fusion::tile_size(rows, columns, whole_rows);
    return std::array{size.rows, size.columns};
  };
  using Size = std::array<int64_t, 2>;
  EXPECT_EQ(tile(1, 10'000), (Size{1, 4096}));
  EXPECT_EQ(tile(100, 256), (Size{16, 256}));
  EXPECT_EQ(tile(3, 256), (Size{3, 256}));
  EXPECT_EQ(tile(4, 10'048), (Size{1, 4096}));
  EXPECT_EQ(tile(4, 10'048, /*whole_rows=*/true), (Size{1, 10'048}));
  EXPECT_EQ(tile(1, 1), (Size{1, 1}));
  EXPECT_EQ(tile(100, 65), (Size{64, 65}));  // the fewest rows that end on a unit
  EXPECT_EQ(tile(10, 65), (Size{10, 65}));   // all of them
  EXPECT_EQ(tile(1000, 96), (Size{42, 96}));
  EXPECT_EQ(tile(1000, 1001), (Size{0, 0}));  // 64 rows would be too much for a cache
  EXPECT_EQ(tile(16, 1001), (Size{16, 1001}));
}

}  // namespace
}  // namespace plimsoll
