// Epilogues of products (ops/linear/epilogues.h, memory/fusion/epilogues.h) on a simulated GPU, with
// a library by the name of cuBLASLt (simulated_cuda/cublas.cpp): what is asked of it and when, that
// its numbers are those of the CPU, which way is chosen, and whole steps.
#include <gtest/gtest.h>

#include <cublasLt.h>

#include <cstdlib>
#include <cstring>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "core/autotune.h"
#include "core/cuda/epilogue.h"
#include "core/cuda/libraries.h"
#include "core/cuda/ways.h"
#include "core/trace.h"
#include "core/transfer.h"
#include "memory/budget.h"
#include "memory/dead_code.h"
#include "memory/step.h"
#include "nn/transformer.h"
#include "ops/linear/epilogues.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "tests/data_testing.h"
#include "tests/errors.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

int epilogues() {
  static const cuda::Library library(
      {.name = "cuBLAS", .file = "libcublasLt.so.13", .package = ""});
  return library.function<SimulatedCublasCounts()>("simulatedCublasCounts")().epilogues;
}

Tensor drawn(const Shape& shape, DType dtype, uint64_t key) {
  return cast(normal(shape, 0, 1, key), dtype);
}

Tensor there(const Tensor& x) { return x.defined() ? to_device(x, Device::cuda) : x; }

class Epilogues : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
    setenv("PLIMSOLL_CUDA_PLANS", folder_.path().c_str(), 1);
    unsetenv("PLIMSOLL_SLOW_EPILOGUES");
    unsetenv("PLIMSOLL_REFUSED_EPILOGUES");
    set_autotune(false);
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  const data::TemporaryFolder folder_;
};

using Outputs = std::array<Tensor, 2>;

// What the library computes for `call` is what the CPU does, with so many epilogues.
template <class Call>
void expect_epilogues(int expected, const Call& call, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> on_device;
  for (const Tensor& x : inputs) on_device.push_back(there(x));
  const Outputs right = call(inputs);
  const int before = epilogues();
  const Outputs results = call(on_device);
  for (size_t k = 0; k < 2; ++k) {
    ASSERT_EQ(results[k].defined(), right[k].defined());
    if (!right[k].defined()) continue;
    const Tensor result = to_device(results[k], Device::cpu);
    EXPECT_EQ(result.meta(), right[k].meta());
    EXPECT_LT(relative_error(to_array(result), to_array(right[k])),
              inputs[0].dtype() == DType::bf16 ? 2e-2 : 5e-3)
        << "output " << k;
  }
  EXPECT_EQ(epilogues() - before, expected);
}

auto linear_gelu(bool both) {
  return [both](const std::vector<Tensor>& in) {
    return linear_gelu_tanh(in[0], in[1], in.size() == 3 ? in[2] : Tensor(), {.both = both});
  };
}
auto gelu_gradient(bool both) {
  return [both](const std::vector<Tensor>& in) {
    return matmul_gelu_tanh_grad(in[0], in[1], in[2], {.both = both});
  };
}
Outputs weight_gradient(const std::vector<Tensor>& in) { return linear_weight_grad(in[0], in[1]); }

// The simulated GPU is of compute capability 9.0.
TEST_F(Epilogues, OfGeluAreTakenWhereTheyAreFast) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const bool both : {false, true}) {
      const Tensor x = drawn({2, 3, 5}, dtype, 1), w = drawn({16, 5}, dtype, 2),
                   b = drawn({16}, dtype, 3);
      expect_epilogues(1, linear_gelu(both), {x, w, b});
      expect_epilogues(1, linear_gelu(both), {x, w});
      expect_epilogues(
          1, gelu_gradient(both),
          {drawn({6, 5}, dtype, 4), drawn({5, 8}, dtype, 5), drawn({2, 3, 8}, dtype, 6)});
      expect_epilogues(0, weight_gradient, {drawn({6, 8}, dtype, 7), drawn({6, 5}, dtype, 8)});
    }
}

TEST_F(Epilogues, WhatTheLibraryDoesNotTakeIsDoneByKernels) {
  const auto gelu_of = [](DType dtype, int64_t outputs) {
    return std::vector{drawn({3, 5}, dtype, 1), drawn({outputs, 5}, dtype, 2)};
  };
  expect_epilogues(1, linear_gelu(true), gelu_of(DType::bf16, 24));
  expect_epilogues(0, linear_gelu(true), gelu_of(DType::bf16, 20));   // no multiple of 8
  expect_epilogues(1, linear_gelu(false), gelu_of(DType::bf16, 20));  // where nothing is kept
  expect_epilogues(0, linear_gelu(true), gelu_of(DType::f32, 24));
  expect_epilogues(0, gelu_gradient(true),
                   {drawn({6, 5}, DType::bf16, 4), drawn({5, 9}, DType::bf16, 5),
                    drawn({2, 3, 9}, DType::bf16, 6)});
  const auto gradient_at_any = [](const std::vector<Tensor>& in) {  // not on a boundary of 16 bytes
    return matmul_gelu_tanh_grad(in[0], in[1], reshape(slice(in[2], 0, 1, 49), {6, 8}));
  };
  expect_epilogues(
      0, gradient_at_any,
      {drawn({6, 5}, DType::bf16, 4), drawn({5, 8}, DType::bf16, 5), drawn({50}, DType::bf16, 6)});
  setenv("PLIMSOLL_CUDA_LIBRARIES", "none", 1);
  expect_epilogues(0, linear_gelu(true), gelu_of(DType::bf16, 24));
}

// It proposed algorithms; it is not asked again.
TEST_F(Epilogues, WhatTheLibraryRefusesWhenItRunsIsDoneByKernels) {
  for (const bool timed : {false, true}) {
    set_autotune(timed);
    const int64_t n = timed ? 40 : 32;
    const std::vector in{drawn({3, 5}, DType::bf16, 1), drawn({n, 5}, DType::bf16, 2)};
    const std::vector gradient{drawn({6, 5}, DType::bf16, 4), drawn({5, n}, DType::bf16, 5),
                               drawn({6, n}, DType::bf16, 6)};
    for (const bool refused : {true, false}) {
      if (refused) setenv("PLIMSOLL_REFUSED_EPILOGUES", "1", 1);
      expect_epilogues(0, linear_gelu(true), in);
      expect_epilogues(0, gelu_gradient(true), gradient);
      unsetenv("PLIMSOLL_REFUSED_EPILOGUES");
    }
  }
}

// Given what its kind takes, and nothing else.
TEST_F(Epilogues, AreCompleteOrNotAskedFor) {
  using cuda::Epilogue;
  using Kind = Epilogue::Kind;
  const auto block = [](const Shape& shape) {
    return to_device(zeros(shape, {.dtype = DType::bf16}), Device::cuda);
  };
  const Tensor a = block({8, 8}), b = block({8, 8}), c = block({8, 8}), h = block({8, 8}),
               row = block({8}), other_row = block({8});
  const View before = view_of(h.value()), sums = view_of(row.value()),
             bias = view_of(other_row.value());
  const auto matrix = [](const Tensor& x) {
    return cuda::Matrices{view_of(x.value()).data, x.dtype(), 8, 1};
  };
  const auto taken = [&](const Epilogue& e, const View* with_bias = nullptr) {
    const cuda::Product p{
        .m = 8, .n = 8, .k = 8, .a = matrix(a), .b = matrix(b), .c = matrix(c), .bias = with_bias};
    return cuda::product_with_epilogue(p, e, {});
  };
  EXPECT_TRUE(taken({Kind::none}));
  EXPECT_TRUE(taken({Kind::none}, &bias));
  EXPECT_FALSE(taken({Kind::none, nullptr, &sums}));
  EXPECT_FALSE(taken({Kind::none, &before}));
  EXPECT_TRUE(taken({Kind::gelu_tanh}));
  EXPECT_TRUE(taken({Kind::gelu_tanh, &before}, &bias));
  EXPECT_FALSE(taken({Kind::gelu_tanh, nullptr, &sums}));
  EXPECT_FALSE(taken({Kind::gelu_tanh, &before, &sums}, &bias));
  EXPECT_TRUE(taken({Kind::gelu_tanh_grad, &before}));
  EXPECT_TRUE(taken({Kind::gelu_tanh_grad, &before, &sums}));
  EXPECT_FALSE(taken({Kind::gelu_tanh_grad, nullptr, &sums}));
  EXPECT_FALSE(taken({Kind::gelu_tanh_grad, &before}, &bias));
  EXPECT_TRUE(taken({Kind::row_sums, nullptr, &sums}));
  EXPECT_FALSE(taken({Kind::row_sums}));
  EXPECT_FALSE(taken({Kind::row_sums, &before, &sums}));
  EXPECT_FALSE(taken({Kind::row_sums, nullptr, &sums}, &bias));
}

// In processes of their own, which have chosen nothing yet: the way is timed, kept, found again by
// another process, and not seen by one that does not ask for it.
TEST_F(Epilogues, TheFastestWayIsTakenAndFoundAgain) {
  const auto expect_in_another_process = [&](bool timed, bool by_epilogue) {
    const auto run = [&] {
      set_autotune(timed);
      const std::vector inputs{there(drawn({6, 8}, DType::bf16, 7)),
                               there(drawn({6, 5}, DType::bf16, 8))};
      weight_gradient(inputs);
      const int before = epilogues();
      weight_gradient(inputs);
      return (epilogues() > before) == by_epilogue;
    };
    EXPECT_EXIT(std::_Exit(run() ? 0 : 1), testing::ExitedWithCode(0), "");
  };
  expect_in_another_process(false, false);
  EXPECT_EQ(files(), 0u);
  expect_in_another_process(true, true);  // one product, where the other way has a sum besides
  const size_t kept = files();
  EXPECT_GT(kept, 0u);
  setenv("PLIMSOLL_SLOW_EPILOGUES", "1", 1);
  expect_in_another_process(true, true);  // it is not timed again
  EXPECT_EQ(files(), kept);
  expect_in_another_process(false, false);
  setenv("PLIMSOLL_SIMULATED_CUBLAS", "130100", 1);
  expect_in_another_process(true, false);
  EXPECT_GT(files(), kept);
  unsetenv("PLIMSOLL_SIMULATED_CUBLAS");
}

// With a bias and without are two tasks, each with a choice of its own.
TEST_F(Epilogues, WaysAreChosenForEveryTask) {
  set_autotune(true);
  int calls = 0;
  const cuda::Way ways[] = {[&] { return ++calls > 0; }, [] { return true; }};
  const auto calls_for = [&](int inputs, int outputs) {
    calls = 0;
    cuda::run_one_of({"test", 1, 2, 3, DType::bf16, inputs, outputs}, cuda::product_library, ways);
    return calls;
  };
  EXPECT_GT(calls_for(2, 1), 1);
  EXPECT_LE(calls_for(2, 1), 1);
  EXPECT_GT(calls_for(3, 1), 1);
  EXPECT_GT(calls_for(3, 2), 1);
  EXPECT_LE(calls_for(3, 2), 1);
}

// Nothing is timed or kept by a call in which a way is not possible; the next one may.
TEST_F(Epilogues, WaysAreChosenWhereAllArePossible) {
  set_autotune(true);
  bool possible = false;
  int calls = 0;
  const cuda::Way ways[] = {[&] { return possible; }, [&] { return ++calls > 0; }};
  const auto calls_now = [&] {
    calls = 0;
    cuda::run_one_of({"test", 7, 8, 9, DType::bf16, 2, 1}, cuda::product_library, ways);
    return calls;
  };
  EXPECT_EQ(calls_now(), 1);
  EXPECT_EQ(calls_now(), 1);
  EXPECT_EQ(files(), 0u);
  possible = true;
  EXPECT_GT(calls_now(), 1);
  EXPECT_EQ(files(), 1u);
  EXPECT_LE(calls_now(), 1);
}

TEST_F(Epilogues, NoWayAtAllIsAnError) {
  const cuda::Way ways[] = {[] { return false; }, [] { return false; }};
  expect_error<DeviceError>(
      [&] {
        cuda::run_one_of({"test", 4, 5, 6, DType::bf16, 2, 1}, cuda::product_library, ways);
      },
      "cuda: test: none of its 2 ways is possible: 4 x 5 by 6 in bf16. Report it: one of them "
      "always is.");
}

// Steps of a transformer's block, on the device.
struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<double>> parameters;
  std::string ops;
  int64_t bytes = 0, smallest = 0;  // of the plan; of all budgets, without epilogues
  bool operator==(const Trained&) const = default;
};

Trained train(Fusion fusion, Precision precision, int64_t budget = 0) {
  nn::Build build{.seed = 3, .placement = {.device = Device::cuda}};
  const nn::TransformerBlock block(
      16, build, {.heads = 2, .causal = true, .activation = nn::Activation::gelu_tanh});
  const std::vector<Tensor> parameters = block.parameters();
  optim::Optimizer optimizer{optim::Adam(parameters)};
  const auto function = [&](std::span<const Tensor> in) {
    const Autocast scope(precision);
    const Tensor y = block(block(in[0], nn::training()), nn::training());
    const Tensor loss = mean(y * y);
    optimizer.update(gradients(loss, parameters));
    return std::vector{loss};
  };
  const BudgetOptions planning{.costs = CostModel::model, .search_seconds = 0.05};
  Step step(StepFunction(function), {.budget = budget, .planning = planning, .fusion = fusion});
  const Tensor x = there(drawn({2, 8, 16}, DType::f32, 5));
  Trained result;
  for (int i = 0; i < 3; ++i) result.losses.push_back(step(x).item());
  for (const Tensor& p : parameters) result.parameters.push_back(p.to_vector<double>());
  for (const Instruction& i : step.program({x.meta()}).instructions)
    result.ops += cat(" ", i.op->name, " ");
  result.bytes = step.plan(x).total_bytes();
  const Program program = remove_dead(capture(function, Metas{x.meta()}));
  result.smallest = BudgetPlanner(program, planning).smallest();
  return result;
}

bool has_op(const Trained& t, const std::string& name) {
  return t.ops.find(cat(" ", name, " ")) != std::string::npos;
}

// By our own kernels joined ops have the bits of the ops by themselves.
TEST_F(Epilogues, StepsKeepTheirBitsWhereOurOwnKernelsMultiply) {
  setenv("PLIMSOLL_CUDA_LIBRARIES", "none", 1);
  const Trained plain = train({}, Precision::bf16);
  const Trained joined = train({.epilogues = true}, Precision::bf16);
  EXPECT_TRUE(has_op(joined, "linear_gelu_tanh"));
  EXPECT_TRUE(has_op(joined, "matmul_gelu_tanh_grad"));
  EXPECT_TRUE(has_op(joined, "linear_weight_grad"));
  EXPECT_FALSE(has_op(joined, "gelu_tanh"));
  EXPECT_FALSE(has_op(joined, "gelu_tanh_grad"));
  EXPECT_FALSE(has_op(joined, "sum"));
  EXPECT_EQ(joined.losses, plain.losses);
  EXPECT_EQ(joined.parameters, plain.parameters);
  EXPECT_LE(joined.bytes, plain.bytes);
  EXPECT_EQ(train({.epilogues = true}, Precision::f32), train({}, Precision::f32));
}

// By the library they differ within the type's rounding, and budgets change no bit of them.
TEST_F(Epilogues, StepsByTheLibraryKeepTheirBitsUnderABudget) {
  const Trained plain = train({}, Precision::bf16);
  const int before = epilogues();
  const Trained joined = train({.epilogues = true}, Precision::bf16);
  EXPECT_EQ(epilogues() - before, 2 * 4);  // two layers, forward and backward; the third is a graph
  for (size_t i = 0; i < plain.losses.size(); ++i)
    EXPECT_NEAR(joined.losses[i], plain.losses[i], 2e-2 * plain.losses[i]);
  const Trained tight = train({.epilogues = true}, Precision::bf16, joined.bytes - 1024);
  EXPECT_LT(tight.bytes, joined.bytes);
  EXPECT_EQ(tight.losses, joined.losses);
  EXPECT_EQ(tight.parameters, joined.parameters);
  const Trained tightest = train({.epilogues = true}, Precision::bf16, plain.smallest);
  EXPECT_LE(tightest.bytes, plain.smallest);  // with them or without
}

TEST_F(Epilogues, OnTheCpuHaveTheBitsOfTheOpsByThemselves) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = drawn({40, 24}, dtype, 1), seed = drawn({40, 7}, dtype, 2),
                 w = drawn({32, 24}, dtype, 3).require_grad(),
                 b = drawn({32}, dtype, 4).require_grad(), w2 = drawn({7, 32}, dtype, 5);
    const Tensor y = gelu_tanh(linear(x, w, b));
    const std::vector<Tensor> grads = gradients(linear(y, w2), std::array{w, b}, {.seed = seed});
    const auto [joined, h] = linear_gelu_tanh(x, w.detach(), b.detach());
    const auto [dh, db] = matmul_gelu_tanh_grad(seed, w2, h);
    const auto [dw, same_db] = linear_weight_grad(dh, x);
    const auto bits = [](const Tensor& t) { return t.to_vector<double>(); };
    EXPECT_EQ(bits(joined), bits(y.detach()));
    EXPECT_EQ(bits(dw), bits(grads[0]));
    EXPECT_EQ(bits(db), bits(grads[1]));
    EXPECT_EQ(bits(same_db), bits(grads[1]));
  }
}

}  // namespace
}  // namespace plimsoll
