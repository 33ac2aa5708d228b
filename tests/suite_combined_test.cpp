// Ops that do what several do (core/combined_op.h): found where these follow each other and nowhere
// else, with the bits of the ops by themselves and no more bytes. On a GPU where there is one, and
// in the simulation.
#include "autograd/gradients.h"
#include "core/combined_op.h"
#include "core/cpu/parallel.h"
#include "core/cuda.h"
#include "core/transfer.h"
#include "memory/combine.h"
#include "memory/dead_code.h"
#include "memory/step.h"
#include "ops/batch_norm/batch_norm_relu.h"
#include "ops/ops.h"
#include "tests/suite.h"

namespace plimsoll {
namespace {

using Inputs = std::span<const Tensor>;  // x, gamma, beta, a residual, the gradient of the result
using Function = std::function<Tensor(Inputs)>;

// What f makes, and its gradients.
StepFunction trained(const Function& f) {
  return [f](Inputs in) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : in.first(4)) leaves.push_back(x.detach().require_grad());
    const Tensor y = f(leaves);
    std::vector<Tensor> results = gradients(y, leaves, {.seed = in[4]});
    results.push_back(y.detach());
    return results;
  };
}

// Of 21 channels some fall to each kind of loop; 24 are moved several at once on a GPU. Several
// chunks of rows.
std::vector<Tensor> make_inputs(DType dtype, Device device, const Shape& shape = {150, 21}) {
  const int64_t c = shape.back();
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<Tensor> inputs{cast(normal(shape, 0.5, 2, 1), dtype),
                             cast(uniform({c}, 0.5, 1.5, 2), wide),
                             cast(normal({c}, 0, 1, 3), wide), cast(normal(shape, 0, 1, 4), dtype),
                             cast(normal(shape, 0, 1, 5), dtype)};
  for (Tensor& x : inputs) x = to_device(x, device);
  return inputs;
}

Metas metas_of(Inputs tensors) {
  Metas metas;
  for (const Tensor& tensor : tensors) metas.push_back(tensor.meta());
  return metas;
}

std::string names(const Program& program) {
  std::string text;
  for (const Instruction& i : program.instructions)
    text += cat(text.empty() ? "" : " ", i.op->name);
  return text;
}

std::string combined_names(const StepFunction& f, const Metas& metas) {
  return names(combine(remove_dead(capture(f, metas))));
}

Tensor norm(Inputs in) { return batch_norm(in[0], in[1], in[2]).y; }
Tensor norm(const Tensor& x, Inputs in) { return batch_norm(x, in[1], in[2]).y; }

struct Trial {
  const char* name;
  Function f;
  const char* instructions;  // of the combined program
};

const Trial kTrials[] = {
    {"relu", [](Inputs in) { return relu(norm(in)); }, "batch_norm_relu batch_norm_relu_grad full"},
    {"sum", [](Inputs in) { return relu(norm(in) + in[3]); },
     "batch_norm_relu batch_norm_add_relu_grad"},
    {"sum turned", [](Inputs in) { return relu(in[3] + norm(in)); },
     "batch_norm_relu batch_norm_add_relu_grad"},
    {"fixed residual", [](Inputs in) { return relu(norm(in) + in[3].detach()); },
     "batch_norm_relu batch_norm_relu_grad full"},
    // The sum of the two gradients would need more memory there: it stays alone.
    {"read twice",
     [](Inputs in) {
       const Tensor y = relu(norm(in));
       return y + tanh(y);
     },
     "batch_norm_relu tanh add tanh_grad add batch_norm_relu_grad full"},
    {"residual blocks",
     [](Inputs in) {
       Tensor h = relu(norm(in));
       for (int i = 0; i < 2; ++i) h = relu(norm(tanh(h), in) + h);
       return h;
     },
     "batch_norm_relu tanh batch_norm_relu tanh batch_norm_relu batch_norm_add_relu_grad "
     "tanh_grad batch_norm_add_relu_grad add add tanh_grad batch_norm_relu_grad add add full"},
    // The second norm is the one that the first is there for.
    {"sum of two norms",
     [](Inputs in) {
       const Tensor other = norm(tanh(in[3]), in);
       return relu(norm(in) + other);
     },
     "tanh batch_norm batch_norm_relu batch_norm_add_relu_grad batch_norm_grad add add tanh_grad"},
};

class Combined : public testing::TestWithParam<std::tuple<Device, DType>> {};

TEST_P(Combined, HaveTheBitsOfTheOpsByThemselves) {
  const auto [device, dtype] = GetParam();
  if (device == Device::cuda)
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const int64_t piece = detail::piece_elements;
  detail::piece_elements = 256;
  for (const int64_t channels : {21, 24})
    for (const Trial& trial : kTrials) {
      SCOPED_TRACE(cat(trial.name, ", ", channels));
      const std::vector<Tensor> inputs = make_inputs(dtype, device, {150, channels});
      const Metas metas = metas_of(inputs);
      Step plain(trained(trial.f)), combined(trained(trial.f), {.fusion = {.norms = true}});
      EXPECT_LE(combined.plan(metas).arena_bytes, plain.plan(metas).arena_bytes);
      EXPECT_LT(combined.plan(metas).instructions, plain.plan(metas).instructions);
      const std::vector<Tensor> expected = plain.run(inputs), actual = combined.run(inputs);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t k = 0; k < expected.size(); ++k)
        EXPECT_TRUE(
            same_bits(to_device(actual[k], Device::cpu), to_device(expected[k], Device::cpu)))
            << "result " << k;
    }
  detail::piece_elements = piece;
}

// Which thread has which elements does not depend on where operands lie, alone and combined.
TEST_P(Combined, InputsMayLieAnywhere) {
  const auto [device, dtype] = GetParam();
  if (device == Device::cuda)
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const StepFunction f = [](Inputs in) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : in.first(4)) leaves.push_back(x.detach().require_grad());
    const auto [normal, mean, variance] = batch_norm(leaves[0], leaves[1], leaves[2]);
    const Tensor y = relu(normal + leaves[3]);
    std::vector<Tensor> results = gradients(y, leaves, {.seed = in[4]});
    results.insert(results.end(), {y.detach(), mean, variance});
    return results;
  };
  const std::vector<Tensor> aligned = make_inputs(dtype, device, {700, 24});
  const std::vector<Tensor> expected = Step(f).run(aligned);
  for (const size_t moved : {0, 3, 4}) {
    std::vector<Tensor> inputs = aligned;
    const int64_t n = count(aligned[moved].shape());
    const Tensor flat = reshape(aligned[moved], {n});
    const Tensor later = concat(std::array{slice(flat, 0, 0, 1), flat}, 0);
    inputs[moved] = reshape(slice(later, 0, 1, n + 1), aligned[moved].shape());
    for (const bool norms : {false, true}) {
      SCOPED_TRACE(cat("input ", moved, norms ? ", combined" : ""));
      const std::vector<Tensor> actual = Step(f, {.fusion = {.norms = norms}}).run(inputs);
      for (size_t k = 0; k < expected.size(); ++k)
        EXPECT_TRUE(
            same_bits(to_device(actual[k], Device::cpu), to_device(expected[k], Device::cpu)))
            << "result " << k;
    }
  }
}

// A channel that is constant but for its first element, which others are compared with, far away,
// and for few others near: rounding is the same everywhere, and does not average out. In few rows
// of several channels, and in so many that a thread has more than one group of them.
TEST_P(Combined, VariancesHoldBesideAnOutlier) {
  const auto [device, dtype] = GetParam();
  if (device == Device::cuda)
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  for (const Shape& shape : {Shape{65536, 4}, Shape{4900000, 1}}) {
    SCOPED_TRACE(cat(shape));
    const int64_t rows = shape[0], channels = shape[1];
    std::vector<float> values(static_cast<size_t>(rows * channels), 0.3f);
    for (size_t i = 1008; i < values.size(); i += 1009) values[i] = 0.29f;
    std::fill_n(values.begin(), channels, 10.3f);
    const Tensor x = cast(Tensor::of<float>(std::span<const float>(values), shape), dtype);
    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
    const Tensor gain = ones({channels}, {.dtype = wide, .device = device});
    const auto result = batch_norm(to_device(x, device), gain, gain);
    const Tensor exact = cast(x, DType::f64);
    const Tensor means = cast(to_device(result.mean, Device::cpu), DType::f64);
    const Tensor variances = cast(to_device(result.variance, Device::cpu), DType::f64);
    for (int64_t c = 0; c < channels; ++c) {
      const auto value = [&](int64_t row) { return exact.data<double>()[row * channels + c]; };
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < rows; ++i) mean += value(i) / static_cast<double>(rows);
      for (int64_t i = 0; i < rows; ++i) squares += (value(i) - mean) * (value(i) - mean);
      EXPECT_NEAR(means.data<double>()[c], mean, 1e-6);
      EXPECT_NEAR(variances.data<double>()[c] * static_cast<double>(rows) / squares, 1, 0x1p-16);
    }
  }
}

const auto kTypes = testing::Values(DType::f64, DType::f32, DType::bf16, DType::f16);
INSTANTIATE_TEST_SUITE_P(OnCpu, Combined, testing::Combine(testing::Values(Device::cpu), kTypes));
INSTANTIATE_TEST_SUITE_P(OnCuda, Combined, testing::Combine(testing::Values(Device::cuda), kTypes));

TEST(CombinedOps, AreFound) {
  const Metas metas = metas_of(make_inputs(DType::f32, Device::cpu));
  for (const Trial& trial : kTrials)
    EXPECT_EQ(combined_names(trained(trial.f), metas), trial.instructions) << trial.name;
}

// All of these would be wrong, or no gain.
TEST(CombinedOps, AreNotFoundWhereTheyAreNone) {
  const std::vector<Tensor> inputs = make_inputs(DType::f32, Device::cpu);
  const Metas metas = metas_of(inputs);
  const auto expect = [&](const StepFunction& f, const std::string& instructions) {
    EXPECT_EQ(combined_names(f, metas), instructions);
  };
  const auto one = [](auto f) { return [f](Inputs in) { return std::vector{f(in)}; }; };
  // What one hands on is read by others or a result, or is only looked at in part.
  expect(
      [](Inputs in) {
        const Tensor z = norm(in);
        return std::vector{relu(z), z};
      },
      "batch_norm relu");
  expect(
      [](Inputs in) {
        const Tensor z = norm(in);
        return std::vector{relu(z), tanh(z)};
      },
      "batch_norm relu tanh");
  expect(one([](Inputs in) { return relu(slice(norm(in), 0, 0, 7)); }), "batch_norm relu");
  expect(one([](Inputs in) {
           const Tensor z = norm(in);
           return relu(z + z);
         }),
         "batch_norm add relu");
  // The residual is broadcast, lies turned, comes later, or is written in between.
  expect(one([](Inputs in) { return relu(norm(in) + in[2]); }), "batch_norm add relu");
  expect(one([](Inputs in) {
           return relu(norm(in) + transpose(reshape(in[3], {21, 150}), 0, 1));
         }),
         "batch_norm add relu");
  expect(one([](Inputs in) {
           const Tensor z = norm(in);
           return relu(z + tanh(in[3]));
         }),
         "batch_norm tanh add relu");
  const Tensor x = uniform({21}, -1, 1, 7), mean = zeros({21}), variance = ones({21});
  expect(one([&](Inputs in) {
           const auto [z, m, v] = batch_norm(x, in[1], in[2]);
           update_running_stats(mean, variance, m, v, 0.1, 1);
           return relu(z + mean);
         }),
         "batch_norm update_running_stats add relu");
  // Another op stands between.
  expect(one([](Inputs in) { return relu(tanh(norm(in))); }), "batch_norm tanh relu");
}

// Those that a program has already are left alone, and may be what needs most.
TEST(CombinedOps, MayBeThereBefore) {
  const auto f = trained([](Inputs in) {
    Tensor h = batch_norm_relu(in[0], in[1], in[2], in[3]).y;
    for (int i = 0; i < 3; ++i) h = batch_norm_relu(tanh(h), in[1], in[2]).y;
    const Tensor y = relu(norm(tanh(h), in));
    return y + tanh(y);
  });
  const std::vector<Tensor> inputs = make_inputs(DType::f32, Device::cpu);
  Step plain(f), combined(f, {.fusion = {.norms = true}});
  const std::vector<Tensor> expected = plain.run(inputs), actual = combined.run(inputs);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same_bits(actual[k], expected[k]));
}

// Running statistics are updated between the norm and the relu.
TEST(CombinedOps, LeaveRunningStatisticsAsTheyWere) {
  const std::vector<Tensor> inputs = make_inputs(DType::bf16, Device::cpu);
  const auto statistics_after = [&](Fusion passes) {
    const Tensor mean = zeros({21}), variance = ones({21});
    Step step(StepFunction([&](Inputs in) {
                const auto [z, m, v] = batch_norm(in[0], in[1], in[2]);
                update_running_stats(mean, variance, m, v, 0.1, 150);
                return std::vector{relu(z + in[3])};
              }),
              {.fusion = passes});
    for (int i = 0; i < 3; ++i) step.run(inputs);
    EXPECT_EQ(names(step.program(metas_of(inputs))),
              passes.norms ? "batch_norm_relu update_running_stats"
                           : "batch_norm update_running_stats add relu");
    return std::vector{mean, variance};
  };
  const auto expected = statistics_after({}), actual = statistics_after({.norms = true});
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same_bits(actual[k], expected[k]));
}

TEST(CombinedOps, NameOpsThatThereAre) {
  for (const CombinedOp& combined : combined_ops())
    for (const CombinedOp::Member& member : combined.members)
      EXPECT_EQ(std::ranges::count(all_ops(), member.name,
                                   [](const OpDef* op) { return std::string_view(op->name); }),
                1)
          << member.name;
}

}  // namespace
}  // namespace plimsoll
