// Ten thousand random programs, each planned in three ways: as captured, with its updates early,
// and in the fewest bytes that a short search finds. The plans run on an executor that shares no
// code with the planner (memory_checker.h): every granule that is read still belongs to the value
// that is meant, what nobody reads again is NaN, and the bits are those of the function itself.
#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/recompute/program.h"
#include "memory/recompute/search.h"
#include "tests/support/memory_checker.h"
#include "tests/support/memory_random.h"

namespace plimsoll {
namespace {

using namespace memory_test;

constexpr uint32_t kPrograms = 10'000;
constexpr recompute::SearchOptions kShort{.effort = 10'000};

// Vectors of a length and programs of a size that depend on the seed.
struct RandomCase {
  explicit RandomCase(uint32_t seed)
      : n(8 + 8 * static_cast<int64_t>(seed % 29)),
        state{ramp(n, 1), ramp(2 * n, -2)},
        inputs{ramp(2 * n, 3), ramp(n, -1)},
        function(seed, 5 + static_cast<int>(seed % 60), state) {}

  Program program() const {
    return remove_dead(capture(function, std::vector{inputs[0].meta(), inputs[1].meta()}));
  }
  // Results and state after one run from the state of a new case.
  template <class F>
  std::vector<std::vector<float>> bits(F run) const {
    state[0].write(std::span<const float>(ramp(n, 1).to_vector<float>()));
    state[1].write(std::span<const float>(ramp(2 * n, -2).to_vector<float>()));
    std::vector<std::vector<float>> all = run();
    for (const Tensor& s : state) all.push_back(s.to_vector<float>());
    return all;
  }

  int64_t n;
  std::vector<Tensor> state, inputs;
  RandomStep function;
};

Program smallest(const Program& program) {
  using namespace recompute;
  const Problem problem = problem_of(program, std::vector<double>(program.instructions.size(), 1));
  return rewrite(program, schedule(descend(problem, kShort).points.front()));
}

TEST(MemoryRandomPrograms, NoTwoLiveValuesOverlapAndFreedMemoryMayBeNaN) {
  int in_place = 0, early_updates = 0, recomputed = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCase c(seed);
    const auto expected = c.bits([&] {
      std::vector<std::vector<float>> values;
      for (const Tensor& result : c.function(c.inputs)) values.push_back(result.to_vector<float>());
      return values;
    });
    const Program program = c.program(), early = update_early(program), least = smallest(program);
    early_updates += early.instructions != program.instructions;
    recomputed += least.instructions.size() > program.instructions.size();
    for (const Program* p : {&program, &early, &least}) {
      const Plan plan = make_plan(*p);
      in_place += plan.in_place > 0;
      ASSERT_EQ(c.bits([&] { return Checker(*p, plan).run(c.inputs); }), expected);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(in_place, kPrograms);  // the programs do exercise folding, ...
  EXPECT_GT(early_updates, kPrograms / 10);
  EXPECT_GT(recomputed, kPrograms / 2);
}

}  // namespace
}  // namespace plimsoll
