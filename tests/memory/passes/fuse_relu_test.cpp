// relu goes into the kernel of the batch norm before it, and its gradient into that one's, where
// nobody else reads what lies between, and no bit changes.
#include "memory/passes/fuse_relu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "autograd/checkpoint.h"
#include "autograd/gradients.h"
#include "core/engine/trace.h"
#include "memory/passes/dead_code.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using Names = std::vector<std::string>;

const std::array kInputs{Meta{{6, 3}}, Meta{{3}}, Meta{{3}}};  // x, gamma, beta

Program captured(const StepFunction& f) { return remove_dead(capture(f, kInputs)); }

Names names(const Program& program) {
  Names all;
  for (const Instruction& instruction : program.instructions)
    all.emplace_back(instruction.op->name);
  return all;
}

int64_t number_of(const std::string& name, const Program& program) {
  return std::ranges::count(names(program), name);
}

Tensor norm(std::span<const Tensor> in) { return batch_norm(in[0], in[1], in[2]).y; }

// The loss of f and its gradients for x, gamma and beta.
StepFunction with_gradients(const std::function<Tensor(std::span<const Tensor>)>& f) {
  return [f](std::span<const Tensor> in) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : in) leaves.push_back(x.detach().require_grad());
    const Tensor loss = sum(f(leaves));
    std::vector<Tensor> all = gradients(loss, leaves);
    all.push_back(loss);
    return all;
  };
}

void expect_the_bits_of_eager(const StepFunction& f) {
  const std::vector<Tensor> inputs{normal({6, 3}, 0, 1, 1), normal({3}, 0, 1, 2),
                                   normal({3}, 0, 1, 3)};
  const std::vector<Tensor> expected = f(inputs), actual = Step(f).run(inputs);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same_bits(actual[k], expected[k])) << k;
}

TEST(FuseRelu, OneKernelEachWay) {
  const StepFunction f = with_gradients([](auto in) { return relu(norm(in)); });
  const Program fused = fuse_relu(captured(f));
  EXPECT_EQ(number_of("batch_norm_relu", fused), 1);
  EXPECT_EQ(number_of("batch_norm_relu_grad", fused), 1);
  for (const char* name : {"relu", "relu_grad", "batch_norm", "batch_norm_grad"})
    EXPECT_EQ(number_of(name, fused), 0) << name;
  EXPECT_EQ(fuse_relu(fused), fused);
  expect_the_bits_of_eager(f);
}

// The gradient of a norm with given statistics is made of other ops, and relu's stays before them.
TEST(FuseRelu, ForwardAloneWhereStatisticsAreGiven) {
  const StepFunction f = with_gradients(
      [](auto in) { return relu(batch_norm_inference(in[0], in[1], in[2], in[2], ones({3}))); });
  const Program fused = fuse_relu(captured(f));
  EXPECT_EQ(number_of("batch_norm_inference_relu", fused), 1);
  EXPECT_EQ(number_of("batch_norm_inference", fused), 0);
  EXPECT_EQ(number_of("relu", fused), 0);
  EXPECT_EQ(number_of("relu_grad", fused), 1);
  expect_the_bits_of_eager(f);
}

TEST(FuseRelu, WhatACheckpointRunsAgainToo) {
  const StepFunction f = with_gradients([](std::span<const Tensor> in) {
    return exp(checkpoint([](auto xs) { return relu(norm(xs)); }, in));
  });
  const Program fused = fuse_relu(captured(f));
  EXPECT_EQ(number_of("batch_norm_relu", fused), 2);
  EXPECT_EQ(number_of("batch_norm_relu_grad", fused), 1);
  expect_the_bits_of_eager(f);
}

TEST(FuseRelu, NotWhereSomebodyElseReadsWhatLiesBetween) {
  const StepFunction normal_too = [](auto in) {
    const Tensor z = norm(in);
    return std::vector{relu(z), exp(z)};
  };
  const StepFunction result_too = [](auto in) {
    const Tensor z = norm(in);
    return std::vector{relu(z), z};
  };
  const StepFunction of_a_part = [](auto in) {
    return std::vector{relu(slice(norm(in), 0, 1, 3))};
  };
  const StepFunction of_the_mean = [](auto in) {
    return std::vector{relu(batch_norm(in[0], in[1], in[2]).mean)};
  };
  for (const StepFunction& f : {normal_too, result_too, of_a_part, of_the_mean}) {
    const Program program = captured(f);
    EXPECT_EQ(fuse_relu(program), program);
    expect_the_bits_of_eager(f);
  }
}

// relu's gradient goes on to the norm alone, but where y is positive does not follow from x.
TEST(FuseRelu, NoGradientOfAnotherRelu) {
  const StepFunction f = with_gradients([](auto in) { return relu(add(norm(in), ones({6, 3}))); });
  const Program program = captured(f), fused = fuse_relu(program);
  EXPECT_EQ(number_of("relu_grad", fused), 1);
  EXPECT_EQ(number_of("batch_norm_grad", fused), 1);
  EXPECT_EQ(fused, program);
  expect_the_bits_of_eager(f);
}

TEST(FuseRelu, NoGradientOfWhatIsWrittenToInBetween) {
  const Program program = captured(with_gradients([](auto in) { return relu(norm(in)); }));
  const Names all = names(program);
  const auto grad = std::ranges::find(all, "batch_norm_grad") - all.begin();
  ASSERT_EQ(all[grad - 1], "relu_grad");
  const Operand dy = program.instructions[grad - 1].in[0];
  const auto writes = std::ranges::find_if(
      all_ops(), [](const OpDef* op) { return op->name == std::string("update_running_stats"); });
  for (const Operand& written : {dy, program.inputs[0], program.inputs[1], program.inputs[2]}) {
    Program other = program;
    other.instructions.insert(other.instructions.begin() + grad,
                              {.op = *writes, .in = std::vector<Operand>(4, written)});
    const Program fused = fuse_relu(other);
    EXPECT_EQ(number_of("batch_norm_relu", fused), 1);
    EXPECT_EQ(number_of("relu_grad", fused), 1);
    EXPECT_EQ(number_of("batch_norm_grad", fused), 1);
  }
}

TEST(FuseRelu, NothingInF64) {
  const StepFunction f = with_gradients([](auto in) { return relu(norm(in)); });
  const DType wide = DType::f64;
  const Program program =
      remove_dead(capture(f, std::array{Meta{{6, 3}, wide}, Meta{{3}, wide}, Meta{{3}, wide}}));
  EXPECT_EQ(fuse_relu(program), program);
}

// Channels that fill vectors and that do not, pieces for several threads, and numbers that are
// stored as zero.
TEST(FuseRelu, TheBitsOfTwoKernels) {
  const auto f = with_gradients([](std::span<const Tensor> in) {
    return relu(batch_norm(in[0], cast(in[1], DType::f32), cast(in[2], DType::f32)).y);
  });
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const int64_t channels : {1, 3, 5, 16, 37, 64})
      for (const double scale : {1.0, 1e-7}) {
        const Tensor x = cast(normal({700, channels}, 0, 1, 1), dtype);
        const Tensor gamma = normal({channels}, 0, scale, 2),
                     beta = normal({channels}, 0, scale, 3);
        const std::vector<Tensor> inputs{x, gamma, beta};
        const std::vector<Tensor> expected = f(inputs), actual = Step(f).run(inputs);
        for (size_t k = 0; k < expected.size(); ++k)
          EXPECT_TRUE(same_bits(actual[k], expected[k])) << cat(dtype, " ", channels, ", ", k);
      }
}

}  // namespace
}  // namespace plimsoll
