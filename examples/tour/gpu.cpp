// Chapter 10: one step on a CPU and on a GPU by a model of both: arithmetic, bytes, and launches.
// Both are descriptions: the program is the same, and nothing of it runs.
#include <algorithm>
#include <cstdio>

#include "autograd/autocast.h"
#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/step/passes.h"

namespace plimsoll::tour {
namespace {

// What data sheets say of an H200, rounded down: 60 TFLOP/s in f32, 900 in 16 bits, 4.8 TB/s.
constexpr DeviceSpeed kGpu{.flops = 6e13, .flops16 = 9e14, .bytes = 4.8e12};
constexpr double kLaunch = 5e-6;  // seconds of the host for each kernel that it starts

double seconds_of(const Program& program, const DeviceSpeed& speed) {
  double seconds = 0;
  for (const Instruction& instruction : program.instructions)
    seconds += modelled_seconds(instruction, speed);
  return seconds;
}

PlannedProgram planned(int64_t batch, Precision precision) {
  Training training({.layers = 8});
  const StepFunction function = step_function([&](const Tensor& x, const Tensor& y) {
    const Autocast scope(precision);
    return training(x, y);
  });
  return plan_step(capture_live(function, inputs_of(batch)), {});
}

}  // namespace

void print_gpu() {
  std::printf("eight layers; a step in microseconds, by operations and bytes\n");
  std::printf("                                 kernels started\n");
  std::printf("batch  type       CPU      GPU   one by one  as a graph   GPU busy\n");
  for (const int64_t batch : {64, 1024, 65536})
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const Program program = planned(batch, precision).program;
      const double gpu = seconds_of(program, kGpu);
      const double starting = static_cast<double>(program.instructions.size()) * kLaunch;
      std::printf("%5lld  %-4s %9.0f %8.1f %12.0f %11.0f %8.0f %%\n", static_cast<long long>(batch),
                  name_of(precision), 1e6 * seconds_of(program, {}), 1e6 * gpu, 1e6 * starting,
                  1e6 * kLaunch, 100 * gpu / std::max(gpu, starting));
    }
}

}  // namespace plimsoll::tour
