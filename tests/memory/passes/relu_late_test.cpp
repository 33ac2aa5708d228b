// relu moves behind the max pool that follows it, and so does its gradient, where nobody else reads
// what lies between, and no bit changes.
#include "memory/passes/relu_late.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "autograd/checkpoint.h"
#include "autograd/gradients.h"
#include "core/engine/trace.h"
#include "memory/passes/dead_code.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using Ops = std::function<Tensor(const Tensor&)>;

const std::array kImages{Meta{{2, 7, 7, 3}}};

// Not the sum of all, of which every gradient would be one.
Tensor weighted(const Tensor& y) {
  return sum(mul(y, cast(normal(y.shape(), 0, 1, 9), y.dtype())));
}

StepFunction with_gradient(const Ops& f) {
  return [f](std::span<const Tensor> in) {
    const Tensor x = in[0].detach().require_grad();
    const Tensor y = f(x);
    return std::vector{gradients(weighted(y), std::array{x})[0], y.detach()};
  };
}

Program captured(const StepFunction& f) { return remove_dead(capture(f, kImages)); }

// The elements that the ops of this name write, one after another.
std::vector<int64_t> sizes_of(const std::string& name, const Program& program) {
  std::vector<int64_t> sizes;
  for (const Instruction& instruction : program.instructions)
    if (instruction.op->name == name) sizes.push_back(count(instruction.out[0].meta.shape));
  return sizes;
}

int64_t bytes_of_activations(const Program& program) {
  std::vector<bool> used(program.buffers.size());
  for (const Instruction& instruction : program.instructions)
    for (const Operand& out : instruction.out) used[out.buffer] = true;
  int64_t bytes = 0;
  for (size_t i = 0; i < used.size(); ++i) bytes += used[i] ? program.buffers[i].bytes : 0;
  return bytes;
}

// Images of all kinds of numbers, many of them in the same window.
Tensor images(DType dtype) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float kinds[] = {-1, -0.0F, 0, 2, NAN, -infinity, infinity, 2, -3, 1e-41F};
  std::vector<float> values(2 * 7 * 7 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = kinds[(i * i + i / 5) % std::size(kinds)];
  return cast(Tensor::of<float>(std::span<const float>(values), {2, 7, 7, 3}), dtype);
}

void expect_the_bits_of_eager(const StepFunction& f, DType dtype = DType::f32) {
  for (const Tensor& x : {images(dtype), cast(normal({2, 7, 7, 3}, 0, 1, 1), dtype),
                          cast(normal({2, 7, 7, 3}, -2, 1, 1), dtype)}) {
    const std::vector<Tensor> in{x}, expected = f(in), actual = Step(f).run(in);
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(same_bits(actual[k], expected[k])) << k;
  }
}

TEST(ReluLate, HasFewerNumbersToRead) {
  const StepFunction f = with_gradient([](const Tensor& x) { return max_pool2d(relu(x)); });
  const Program before = captured(f), after = relu_late(before);
  EXPECT_EQ(sizes_of("relu", before), std::vector<int64_t>{294});
  EXPECT_EQ(sizes_of("relu", after), std::vector<int64_t>{54});
  EXPECT_EQ(sizes_of("relu_grad", after), std::vector<int64_t>{54});
  EXPECT_EQ(sizes_of("max_pool2d_grad", after), std::vector<int64_t>{294});
  EXPECT_EQ(bytes_of_activations(before) - bytes_of_activations(after), 2 * (294 - 54) * 4);
  EXPECT_EQ(relu_late(after), after);
  expect_the_bits_of_eager(f);
}

TEST(ReluLate, BehindSeveralPools) {
  const StepFunction f =
      with_gradient([](const Tensor& x) { return max_pool2d(max_pool2d(relu(x))); });
  const Program after = relu_late(captured(f));
  EXPECT_EQ(sizes_of("relu", after), std::vector<int64_t>{6});
  EXPECT_EQ(sizes_of("relu_grad", after), std::vector<int64_t>{6});
  expect_the_bits_of_eager(f);
}

TEST(ReluLate, WithoutAGradientToo) {
  const StepFunction f = [](auto in) { return std::vector{max_pool2d(relu(in[0]))}; };
  EXPECT_EQ(sizes_of("relu", relu_late(captured(f))), std::vector<int64_t>{54});
  expect_the_bits_of_eager(f);
}

TEST(ReluLate, WhatACheckpointRunsAgainToo) {
  const StepFunction f = with_gradient([](const Tensor& x) {
    return exp(-checkpoint([](std::span<const Tensor> in) { return max_pool2d(relu(in[0])); },
                           std::array{x}));
  });
  const Program after = relu_late(captured(f));
  EXPECT_EQ(sizes_of("relu", after), (std::vector<int64_t>{54, 54}));
  EXPECT_EQ(sizes_of("relu_grad", after), std::vector<int64_t>{54});
  expect_the_bits_of_eager(f);
}

TEST(ReluLate, NotWhereSomebodyElseReadsWhatLiesBetween) {
  const Ops both_pools = [](const Tensor& x) {
    const Tensor t = relu(x);
    return add(max_pool2d(t), avg_pool2d(t));
  };
  const Ops two_pools = [](const Tensor& x) {
    const Tensor t = relu(x);
    return add(max_pool2d(t), max_pool2d(t));
  };
  const Ops a_part = [](const Tensor& x) { return max_pool2d(slice(relu(x), 0, 1, 2)); };
  const Ops another_shape = [](const Tensor& x) {
    return max_pool2d(reshape(relu(x), {2, 7, 3, 7}));
  };
  const Ops a_mean = [](const Tensor& x) { return avg_pool2d(relu(x)); };
  const StepFunction result_too = [](auto in) {
    const Tensor t = relu(in[0]);
    return std::vector{t, max_pool2d(t)};
  };
  const StepFunction a_part_alone = [&](auto in) { return std::vector{a_part(in[0])}; };
  const StepFunction another_shape_alone = [&](auto in) {
    return std::vector{another_shape(in[0])};
  };
  for (const StepFunction& f :
       {with_gradient(both_pools), with_gradient(two_pools), with_gradient(a_part), a_part_alone,
        with_gradient(another_shape), another_shape_alone, with_gradient(a_mean), result_too}) {
    const Program program = captured(f);
    EXPECT_EQ(relu_late(program), program);
    expect_the_bits_of_eager(f);
  }
}

// The gradient for what relu made goes to relu, and somewhere else as well.
TEST(ReluLate, NotWhereTheGradientIsAResult) {
  const StepFunction f = [](auto in) {
    const Tensor x = in[0].detach().require_grad();
    const Tensor t = relu(x);
    return gradients(weighted(max_pool2d(t)), std::array{x, t});
  };
  const Program program = captured(f);
  EXPECT_EQ(relu_late(program), program);
  expect_the_bits_of_eager(f);
}

// It is for what relu made, and of no use to x.
TEST(ReluLate, NotWhereTheGradientEndsThere) {
  const StepFunction f = [](auto in) {
    const Tensor t = relu(in[0]).detach().require_grad();
    return gradients(weighted(max_pool2d(t)), std::array{t});
  };
  const Program program = captured(f);
  EXPECT_EQ(relu_late(program), program);
  expect_the_bits_of_eager(f);
}

// Instructions that nobody captures, but that a pass could leave.
TEST(ReluLate, NotWhereOthersAreMeant) {
  const Program program =
      captured(with_gradient([](const Tensor& x) { return max_pool2d(relu(x)); }));
  const auto number_of = [&](const std::string& name) {
    return static_cast<size_t>(
        std::ranges::find_if(program.instructions,
                             [&](const Instruction& it) { return it.op->name == name; }) -
        program.instructions.begin());
  };
  const size_t relu = number_of("relu"), pool = number_of("max_pool2d"),
               pool_grad = number_of("max_pool2d_grad"), relu_grad = number_of("relu_grad");
  ASSERT_NE(relu_late(program), program);
  const auto expect_stays = [&](const char* what, const std::function<void(Program&)>& change) {
    Program other = program;
    change(other);
    EXPECT_EQ(relu_late(other), other) << what;
  };
  const Operand places = program.instructions[pool].out[1], v = program.instructions[pool].out[0];
  const Operand t = program.instructions[relu].out[0], x = program.instructions[relu].in[0];
  const auto writes = *std::ranges::find_if(
      all_ops(), [](const OpDef* op) { return op->name == std::string("update_running_stats"); });
  expect_stays("places are a result", [&](Program& p) { p.results.push_back(places); });
  expect_stays("another reads the places", [&](Program& p) {
    p.instructions.push_back({.op = p.instructions[relu].op, .in = {places}, .out = {x}});
  });
  expect_stays("the gradient of another relu", [&](Program& p) {
    p.instructions[relu_grad].in = {t, x};
  });
  expect_stays("a second gradient of this one", [&](Program& p) {
    Instruction second = p.instructions[relu_grad];
    second.in[0] = x;
    p.instructions.insert(p.instructions.begin() + static_cast<int64_t>(pool_grad), second);
  });
  expect_stays("part of what relu made",
               [&](Program& p) { p.instructions[relu_grad].in[1].offset = 1; });
  expect_stays("the gradient of another pool",
               [&](Program& p) { p.instructions[pool_grad].in[1].offset = 1; });
  expect_stays("the gradient of no pool",
               [&](Program& p) { p.instructions[pool_grad].op = p.instructions[relu].op; });
  expect_stays("part of the pool's gradient",
               [&](Program& p) { p.instructions[relu_grad].in[0].offset = 1; });
  expect_stays("what the pool made is written to", [&](Program& p) {
    p.instructions.insert(p.instructions.begin() + static_cast<int64_t>(pool_grad),
                          {.op = writes, .in = std::vector<Operand>(4, v)});
  });
}

TEST(ReluLate, NotWhereItWouldHaveMoreToRead) {
  const Ops upwards = [](const Tensor& x) { return adaptive_max_pool2d(relu(x), {14, 14}); };
  const Ops alike = [](const Tensor& x) {
    return max_pool2d(relu(x), {.window = 3, .stride = 1, .padding = 1});
  };
  for (const Ops& f : {upwards, alike}) {
    const Program program = captured(with_gradient(f));
    EXPECT_EQ(relu_late(program), program);
  }
}

// With a distance between its pixels a window may have none at all: then the pool is -infinity.
TEST(ReluLate, NotBehindWindowsWithoutPixels) {
  const Pool2dAttrs attrs{.padding = 1, .dilation = 8};
  const StepFunction f = [&](auto in) { return std::vector{max_pool2d(relu(in[0]), attrs)}; };
  const Program program = captured(f);
  EXPECT_EQ(relu_late(program), program);
  expect_the_bits_of_eager(f);
}

TEST(ReluLate, TheBitsOfWindowsThatOverlap) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (const Pool2dAttrs& attrs :
         {Pool2dAttrs{}, Pool2dAttrs{.window = 3, .padding = 1},
          Pool2dAttrs{.window = 3, .stride = {1, 2}, .padding = 1},
          Pool2dAttrs{.window = {3, 2}, .stride = {3, 1}, .ceil_mode = true}}) {
      const StepFunction f =
          with_gradient([&](const Tensor& x) { return max_pool2d(relu(x), attrs); });
      const Program after = relu_late(remove_dead(capture(f, std::array{images(dtype).meta()})));
      EXPECT_EQ(sizes_of("relu", after), sizes_of("max_pool2d", after));
      expect_the_bits_of_eager(f, dtype);
    }
  const StepFunction f = with_gradient([](const Tensor& x) {
    return adaptive_max_pool2d(relu(x), {3, 4});
  });
  EXPECT_EQ(sizes_of("relu", relu_late(captured(f))), std::vector<int64_t>{72});
  expect_the_bits_of_eager(f);
}

}  // namespace
}  // namespace plimsoll
