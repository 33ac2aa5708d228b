// Updates that wait for others like them, and which instructions one call may run.
#include "memory/joining.h"

#include "memory/early_update.h"
#include "tests/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

// total = (1 - factor) total + factor x, in place.
constexpr OpDef pull_op{.name = "pull",
                        .infer = [](std::span<const Meta>, const Attrs&) { return Metas{}; },
                        .mutates = bits(0)};
void pull(const Tensor& total, const Tensor& x, float factor = 1) {
  apply(pull_op, {total, x}, Factor{factor});
}

constexpr int64_t kBytes = 4096;  // of every tensor
Meta block() { return vec(kBytes / 4); }

std::vector<Tensor> totals(int n) {
  const MemoryScope scope(MemoryClass::parameter);
  std::vector<Tensor> made;
  for (int i = 0; i < n; ++i) made.push_back(Tensor::empty(block()));
  return made;
}

// The names of the instructions, "pull" with the number of its total.
std::string order(const Program& program, const std::vector<Tensor>& totals) {
  std::string names;
  for (const Instruction& instruction : program.instructions) {
    names += cat(names.empty() ? "" : " ", instruction.op->name);
    const auto& storage = program.buffers[instruction.in[0].buffer].storage;
    for (size_t i = 0; i < totals.size(); ++i)
      if (instruction.op == &pull_op && totals[i].value().storage == storage) names += cat(i);
  }
  return names;
}

std::string rounds(const Program& program) {
  const auto count = static_cast<int>(program.instructions.size());
  std::string lengths;
  for (int i = 0, end = 0; i < count; i = end) {
    end = joined_until(program, i);
    lengths += cat(lengths.empty() ? "" : " ", end - i);
  }
  return lengths;
}

// A step with a gradient for each total, each made from the one before it.
template <class F>
Program chain(const F& update) {
  return capture(
      [&](std::span<const Tensor> in) {
        Tensor x = in[0];
        for (int i = 0; i < 4; ++i) {
          x = scan(x);
          update(i, x);
        }
        return std::vector{x};
      },
      std::vector{block()});
}

TEST(MemoryJoining, UpdatesWaitForOthersWhereThereIsRoom) {
  const std::vector<Tensor> w = totals(4);
  const Program program = chain([&](int i, const Tensor& x) { pull(w[i], x); });
  EXPECT_EQ(order(program, w), "scan pull0 scan pull1 scan pull2 scan pull3");
  const Plan plan = make_plan(program);
  EXPECT_EQ(plan.lower_bound, 4 * kBytes);  // x, the next x, and twice as much scratch
  EXPECT_EQ(order(update_together(program, 7 * kBytes), w),
            "scan scan scan scan pull0 pull1 pull2 pull3");
  EXPECT_EQ(rounds(update_together(program, 7 * kBytes)), "1 1 1 1 4");
  EXPECT_EQ(make_plan(update_together(program, 7 * kBytes)).lower_bound, 6 * kBytes);
}

TEST(MemoryJoining, NotWhereItWouldRaiseThePeak) {
  const std::vector<Tensor> w = totals(4);
  const Program program = chain([&](int i, const Tensor& x) { pull(w[i], x); });
  for (int64_t blocks = 4; blocks <= 7; ++blocks) {
    const Program together = update_together(program, blocks * kBytes);
    EXPECT_LE(make_plan(together).lower_bound, blocks * kBytes);
  }
  EXPECT_EQ(order(update_together(program, 5 * kBytes), w),
            "scan scan scan pull0 pull1 pull2 scan pull3");
}

TEST(MemoryJoining, NotPastWhatNeedsThemDone) {
  const std::vector<Tensor> w = totals(4);
  const Program program = chain([&](int i, const Tensor& x) {
    pull(w[i], x);
    if (i == 1) pull(w[3], plus(w[0], x), 2);  // reads what the first has written
  });
  EXPECT_EQ(order(program, w), "scan pull0 scan pull1 plus pull3 scan pull2 scan pull3");
  EXPECT_EQ(order(update_together(program, 64 * kBytes), w),
            "scan scan pull0 pull1 plus scan scan pull3 pull2 pull3");
  EXPECT_EQ(rounds(update_together(program, 64 * kBytes)), "1 1 2 1 1 1 1 2");
}

TEST(MemoryJoining, ThoseWithOtherAttributesKeepApart) {
  const std::vector<Tensor> w = totals(4);
  const Program program = chain([&](int i, const Tensor& x) { pull(w[i], x, i % 2 ? 1 : 0.5f); });
  EXPECT_EQ(order(update_together(program, 64 * kBytes), w),
            "scan scan scan scan pull0 pull2 pull1 pull3");
  EXPECT_EQ(rounds(update_together(program, 64 * kBytes)), "1 1 1 1 2 2");
}

TEST(MemoryJoining, ACallDoesNotReadWhatItWrites) {
  const std::vector<Tensor> w = totals(2);
  const auto two = [&](const Tensor& total, const Tensor& x) {
    return capture(
        [&](std::span<const Tensor> in) {
          pull(w[0], in[0]);
          pull(total, x.defined() ? x : in[0]);
          return std::vector<Tensor>{};
        },
        std::vector{block()});
  };
  EXPECT_EQ(rounds(two(w[1], {})), "2");
  EXPECT_EQ(rounds(two(w[0], {})), "1 1");
  EXPECT_EQ(rounds(two(w[1], w[0])), "1 1");
}

}  // namespace
}  // namespace plimsoll
