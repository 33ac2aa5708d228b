// Chapter 11: the three promises, shown: equal bits in every mode, measured as planned, and no two
// values in one place.
#include <cstdio>
#include <cstring>
#include <memory>

#include "autograd/gradcheck.h"
#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/layout/memory_timeline.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/passes.h"
#include "memory/step/step.h"
#include "ops/matmul/linear/linear.h"

namespace plimsoll::tour {
namespace {

constexpr int64_t kBatch = 256;
constexpr BudgetOptions kPlanning{.costs = CostModel::model, .search_seconds = 0.2};

struct Mode {
  const char* name;
  bool captured = false, checkpoint = false;
  int64_t budget = 0;
};

struct Outcome {
  std::vector<float> bits;  // losses, then parameters
  int64_t planned = 0, measured = 0;
};

// Three steps from the same weights on the same batch.
Outcome train(const Mode& mode) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Training training({.layers = 6, .checkpoint = mode.checkpoint});
  const Batch batch = make_batch(kBatch);
  pool->reset_peak();
  Step step(training.function(), {.budget = mode.budget, .planning = kPlanning});
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    const Tensor loss = mode.captured ? step(batch.x, batch.y) : training(batch.x, batch.y);
    outcome.bits.push_back(loss.item<float>());
  }
  outcome.measured = pool->stats().peak.bytes;
  if (mode.captured) outcome.planned = step.plan(batch.x, batch.y).total_bytes();
  for (const Tensor& parameter : training.net.parameters()) {
    const std::vector<float> values = parameter.to_vector<float>();
    outcome.bits.insert(outcome.bits.end(), values.begin(), values.end());
  }
  return outcome;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

int64_t smallest_budget() {
  Training training({.layers = 6});
  return budget_planner(capture_live(training.function(), inputs_of(kBatch)), kPlanning).smallest();
}

// Every pair of values that are alive together lies apart.
void check_placement() {
  Training training({.layers = 6});
  const PlannedProgram step = plan_step(capture_live(training.function(), inputs_of(kBatch)), {});
  const auto rectangles = make_timeline(step.program, step.plan).rectangles;
  int pairs = 0, overlaps = 0;
  for (size_t a = 0; a < rectangles.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const Rectangle &x = rectangles[a], &y = rectangles[b];
      if (!x.in_arena() || !y.in_arena() || x.end <= y.begin || y.end <= x.begin) continue;
      ++pairs;
      overlaps += x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
    }
  std::printf("\n%d pairs of values are alive together; %d of them share a byte\n", pairs,
              overlaps);
}

// The gradient of a net by finite differences, in f64.
void check_gradient() {
  const Placement f64{.dtype = DType::f64};
  const Tensor x = normal({4, 5}, 0, 1, 1, f64), w1 = normal({6, 5}, 0, 1, 2, f64),
               w2 = normal({3, 6}, 0, 1, 3, f64), labels = Tensor::of<int64_t>({0, 2, 1, 0}, {4});
  const auto loss = [&](std::span<const Tensor> in) {
    return std::vector{cross_entropy(linear(relu(linear(in[0], in[1])), in[2]), labels)};
  };
  const GradcheckResult result = gradcheck(loss, std::array{x, w1, w2});
  std::printf("gradients of 68 numbers by finite differences: %s\n",
              result.ok ? "agree to 1e-6" : result.message.c_str());
}

}  // namespace

void print_proof() {
  const Mode modes[] = {
      {.name = "eager"},
      {.name = "eager, checkpoints", .checkpoint = true},
      {.name = "captured", .captured = true},
      {.name = "captured, checkpoints", .captured = true, .checkpoint = true},
      {.name = "captured, smallest", .captured = true, .budget = smallest_budget()}};
  std::printf("six layers, batch 256   planned bytes  measured bytes  same bits\n");
  std::vector<float> first;
  for (const Mode& mode : modes) {
    const Outcome outcome = train(mode);
    if (first.empty()) first = outcome.bits;
    const std::string planned = mode.captured ? cat(outcome.planned) : "-";
    std::printf("%-24s %14s %15lld  %s\n", mode.name, planned.c_str(),
                static_cast<long long>(outcome.measured),
                same_bits(outcome.bits, first) ? "yes" : "NO");
  }
  check_placement();
  check_gradient();
}

}  // namespace plimsoll::tour
