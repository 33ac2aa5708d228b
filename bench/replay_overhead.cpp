// What replay costs per instruction beyond its kernel.
//
//   bench/replay_overhead              // ns per node, with kernels of 8 elements and with none
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/engine/apply.h"
#include "memory/step/step.h"

using namespace plimsoll;

namespace {

constexpr int kNodes = 1000;

constexpr OpDef tiny_op{.name = "tiny",
                        .infer = same_as_input,
                        .cpu =
                            [](const Call& call) {
                              const float* x = call.in[0].as<float>();
                              float* y = call.out[0].as<float>();
                              for (int i = 0; i < 8; ++i) y[i] = 0.5f * x[i] + 1;
                            },
                        .inplace = 0};
constexpr OpDef nothing_op{.name = "nothing", .infer = same_as_input, .cpu = [](const Call&) {}};

Tensor chain(const OpDef& op, Tensor x) {
  for (int i = 0; i < kNodes; ++i) x = apply1(op, {x});
  return x;
}

// The fastest of many calls, in nanoseconds per node.
template <class F>
double time_per_node(F&& f) {
  double best = 1e30;
  for (int round = 0; round < 300; ++round) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / kNodes);
  }
  return best;
}

void report(const OpDef& op) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {8});
  Step step([&](const Tensor& in) { return chain(op, in); });
  step(x);
  const double replayed = time_per_node([&] { step(x); });
  const double eager = time_per_node([&] { chain(op, x); });
  std::printf("%-8s %8.1f ns per node replayed %8.1f ns eager\n", op.name, replayed, eager);
}

}  // namespace

int main() {
  std::printf("%d nodes of 8 elements\n", kNodes);
  report(tiny_op);
  report(nothing_op);
}
