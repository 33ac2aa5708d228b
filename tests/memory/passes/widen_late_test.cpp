// Gradients that were made in 16 bits are read as they are: no copy of them in f32 is made, and no
// bit of what is trained changes.
#include "memory/passes/widen_late.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/engine/trace.h"
#include "memory/passes/dead_code.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/accumulation.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/eight_bit.h"
#include "optim/loss_scaler.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using optim::Optimizer;

// Pieces for several threads, and not a multiple of what a kernel takes at once.
const Shape kShape{3, 20'011};
const std::array kInputs{Meta{kShape, DType::bf16}, Meta{kShape, DType::bf16}};

// Of 16 bits.
int64_t casts(const Program& program) {
  return std::ranges::count_if(program.instructions, [](const Instruction& i) {
    return i.op->casts && size_of(i.in[0].meta.dtype) == 2;
  });
}

std::vector<Tensor> widened(std::span<const Tensor> grads) {
  std::vector<Tensor> wide;
  for (const Tensor& g : grads) wide.push_back(cast(g, DType::f32));
  return wide;
}

// How gradients in f32 reach an optimizer, and whether the second ones overflow.
struct Way {
  std::function<void(Optimizer&, const std::vector<Tensor>&)> update;
  bool overflows = false;
};
const Way kPlain{[](Optimizer& optimizer, const auto& grads) { optimizer.update(grads); }};
const Way kClipped{[](Optimizer& optimizer, const auto& grads) {
  optimizer.update(optim::clip_by_global_norm(grads, 0.5).grads);
}};
const Way kUnscaled{[](Optimizer& optimizer, const auto& grads) {
                      const auto [unscaled, skip] = optim::LossScaler::fixed(4).unscale(grads);
                      optimizer.update(unscaled, skip);
                    },
                    true};

// Three updates; all bits of what they leave, and the casts that the captured step has.
struct Left {
  std::vector<Tensor> tensors;
  int64_t casts = 0;
};
template <class Make>
Left left_by(const Make& make, const Way& way, DType dtype, bool captured) {
  const std::vector<Tensor> w{normal(kShape, 0, 1, 1), normal(kShape, 0, 1, 2)};
  auto optimizer = make(w);
  const StepFunction f = [&](std::span<const Tensor> grads) {
    way.update(optimizer, widened(grads));
    return std::vector<Tensor>{};
  };
  Left left;
  left.casts = casts(
      widen_late(remove_dead(capture(f, std::array{Meta{kShape, dtype}, Meta{kShape, dtype}}))));
  Step step(f);
  for (uint64_t t = 0; t < 3; ++t) {
    const double size = way.overflows && t == 1 ? 1e38 : 1;
    const std::vector<Tensor> grads{cast(normal(kShape, 0, 1, 2 * t + 10), dtype),
                                    cast(normal(kShape, 0, size, 2 * t + 11), dtype)};
    captured ? step.run(grads) : f(grads);
  }
  left.tensors = w;
  for (const auto& [name, tensor] : optimizer.state()) left.tensors.push_back(tensor);
  return left;
}

template <class Make>
void expect_the_bits_of_eager(const Make& make, int line) {
  SCOPED_TRACE(line);
  for (const Way& way : {kPlain, kClipped, kUnscaled})
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const Left eager = left_by(make, way, dtype, false);
      const Left captured = left_by(make, way, dtype, true);
      EXPECT_EQ(captured.casts, 0);
      for (size_t k = 0; k < eager.tensors.size(); ++k)
        EXPECT_TRUE(same_bits(captured.tensors[k], eager.tensors[k])) << k;
    }
}

TEST(WidenLate, EveryOptimizerReadsThemWithTheSameBits) {
  using namespace optim;
  using Parameters = std::vector<Tensor>;
  expect_the_bits_of_eager([](const Parameters& w) { return SGD(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return SGD(w, {.momentum = 0.9}); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return Adam(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return AdamW(w, {.amsgrad = true}); },
                           __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return Adamax(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return NAdam(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return RAdam(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return RMSprop(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return Adagrad(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return AdamW8bit(w); }, __LINE__);
  expect_the_bits_of_eager([](const Parameters& w) { return SGD8bit(w); }, __LINE__);
}

// What f leaves of two gradients of bf16 has the bits that it has eagerly, and no cast is left.
void expect_none_is_made(const StepFunction& f) {
  EXPECT_EQ(casts(widen_late(remove_dead(capture(f, kInputs)))), 0);
  const std::vector<Tensor> grads{cast(normal(kShape, 0, 1, 1), DType::bf16),
                                  cast(normal(kShape, 0, 1, 2), DType::bf16)};
  const std::vector<Tensor> expected = f(grads), actual = Step(f).run(grads);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same_bits(actual[k], expected[k])) << k;
}

TEST(WidenLate, SumsOfAWindowReadThemToo) {
  expect_none_is_made([](auto in) {
    const Tensor total = clone(zeros(kShape)), weight = full({}, 0.1, {.dtype = DType::f64});
    const Tensor weights = full({}, 12345.678, {.dtype = DType::f64});
    for (const Tensor& g : widened(in)) accumulate(total, g, weight, weights, {.last = true});
    return std::vector{total};
  });
  expect_none_is_made([](auto in) {
    const std::vector<Tensor> levels{clone(zeros(kShape)), clone(zeros(kShape))};
    const Tensor weight = full({}, 0.1, {.dtype = DType::f64});
    const std::vector<Tensor> grads = widened(in);
    for (int64_t part = 0; part < 2; ++part)
      accumulate_tree(levels, grads[static_cast<size_t>(part)], weight,
                      Tensor::of<int64_t>({part}, {1}), {.block = 1, .last = part == 1});
    return levels;
  });
  expect_none_is_made([](auto in) { return std::vector{sums_of_squares(widened(in), 64)}; });
}

TEST(WidenLate, NotWhatSomebodyElseReads) {
  const StepFunction result = [](auto in) { return std::vector{cast(in[0], DType::f32)}; };
  const StepFunction other_reader = [](auto in) {
    const Tensor g = cast(in[0], DType::f32);
    return std::vector{sums_of_squares(std::array{g}, 64), exp(g)};
  };
  const StepFunction to_f64 = [](auto in) {
    return std::vector{sums_of_squares(std::array{cast(in[0], DType::f64)}, 64)};
  };
  for (const StepFunction& f : {result, other_reader, to_f64}) {
    const Program program = capture(f, kInputs);
    EXPECT_EQ(casts(program), 1);
    EXPECT_EQ(widen_late(program), program);
  }
}

TEST(WidenLate, NotWhatIsWrittenToBeforeItIsRead) {
  const Tensor held = cast(ones(kShape), DType::bf16), other = clone(held);
  const Tensor step = ones({}, {.dtype = DType::i64}), lr = full({}, 0.1);
  const StepFunction f = [&](std::span<const Tensor>) {
    const Tensor g = cast(held, DType::f32);
    sgd_update(held, other, {}, step, lr);
    return std::vector{sums_of_squares(std::array{g}, 64)};
  };
  const Program program = capture(f, {});
  EXPECT_EQ(casts(program), 1);
  EXPECT_EQ(widen_late(program), program);
}

// A step holds one gradient after another, but where it clips all of them.
TEST(WidenLate, ClippingHoldsTwoBytesOfEachGradient) {
  const std::vector<Tensor> w{zeros({64, 64}), zeros({64, 64}), zeros({64, 64})};
  optim::SGD optimizer(w);
  Step step([&](std::span<const Tensor> x) {
    std::vector<Tensor> grads;
    for (size_t k = 0; k < w.size(); ++k) grads.push_back(exp(x[0]));
    kClipped.update(optimizer, widened(grads));
    return std::vector<Tensor>{};
  });
  const int64_t one = 64 * 64 * 2;
  EXPECT_LE(step.plan({{{64, 64}, DType::bf16}}).arena_bytes, 3 * one + 2 * one + 4096);
}

}  // namespace
}  // namespace plimsoll
