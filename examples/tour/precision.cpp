// Chapter 8: what 16 bits save, which numbers they have, and how a loss scale brings a gradient
// that f16 has no number for through the backward pass.
#include <cmath>
#include <cstdio>

#include "autograd/autocast.h"
#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/layout/memory_timeline.h"
#include "memory/step/passes.h"
#include "ops/matmul/linear/linear.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/sum/sum.h"
#include "optim/loss_scaler.h"
#include "optim/sgd.h"

namespace plimsoll::tour {
namespace {

void print_bytes_by_type() {
  std::printf("type    activations KiB  total KiB     eight layers, batch 4096\n");
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    Training training({.layers = 8});
    const StepFunction function = step_function([&](const Tensor& x, const Tensor& y) {
      const Autocast scope(precision);
      return training(x, y);
    });
    const Plan plan = plan_step(capture_live(function, inputs_of(4096)), {}).plan;
    std::printf("%-6s %16.1f %10.1f\n", name_of(precision),
                kib(plan.at_peak[static_cast<size_t>(MemoryClass::activation)]),
                kib(plan.total_bytes()));
  }
}

double through(double value, DType dtype) {
  return cast(full({}, value, {.dtype = DType::f64}), dtype).item();
}

void print_numbers() {
  std::printf("\nnumber       in f32       in bf16      in f16\n");
  for (const int power : {-30, -24, -14, 15, 16}) {
    const double value = std::ldexp(1.0, power);
    std::printf("2^%-8d", power);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
      std::printf(" %12.6g", through(value, dtype));
    std::printf("\n");
  }
  std::printf("1 + 2^-9  ");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    std::printf(" %12.10g", through(1 + std::ldexp(1.0, -9), dtype));
  std::printf("\n");
}

// A weight whose gradient is 2^-26, in f16.
double gradient_in_f16(const optim::LossScaler& scaler) {
  const Tensor w = ones({1, 1}).require_grad();
  const Tensor x = full({1, 1}, std::ldexp(1.0, -13));
  const Autocast scope(Precision::f16);
  const Tensor loss = mul(sum(cast(linear(x, w), DType::f32)), full({}, std::ldexp(1.0, -13)));
  const auto [grads, skip] = scaler.unscale(gradients(scaler.scale(loss), std::array{w}));
  return grads[0].item();
}

// Steps of a dynamic scale; the third step's gradient overflows.
void print_steps() {
  const Tensor w = ones({1}).require_grad();
  optim::SGD optimizer({w}, {.learning_rate = 0.25});
  const auto scaler = optim::LossScaler::dynamic({.initial = 65536, .interval = 3});
  std::printf("\nstep  gradient  scale before  skipped  steps made  scale after\n");
  int number = 0;
  for (const double gradient : {1.0, 1.0, 1e35, 1.0, 1.0, 1.0}) {
    const double before = scaler.current().item();
    const Tensor loss = sum(mul(w, full({1}, gradient)));
    auto [grads, skip] = scaler.unscale(gradients(scaler.scale(loss), std::array{w}));
    optimizer.update(grads, skip);
    scaler.update(skip);
    std::printf("%4d %9.3g %13.0f  %7s %11lld %12.0f\n", ++number, gradient, before,
                skip.item() != 0 ? "yes" : "no", static_cast<long long>(optimizer.steps_made()),
                scaler.current().item());
  }
}

}  // namespace

void print_precision() {
  print_bytes_by_type();
  print_numbers();
  std::printf("\na gradient of 2^-26 = %.6g, computed in f16\n", std::ldexp(1.0, -26));
  std::printf("  without a scale:       %.6g\n", gradient_in_f16(optim::LossScaler::none()));
  std::printf("  with a scale of 65536: %.6g\n", gradient_in_f16(optim::LossScaler::fixed(65536)));
  print_steps();
}

}  // namespace plimsoll::tour
