// Batch norm by our own kernels or by a library, on a simulated GPU and with a stand-in for what
// cuDNN does (core/cuda/norm.h): when it is asked, what is made of its results, which way is
// chosen, and whole steps. The simulated clock counts what is queued: ours are three kernels, the
// library's one and ours behind it another.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "autograd/gradients.h"
#include "core/autotune.h"
#include "core/cuda/norm.h"
#include "core/cuda/runtime.h"
#include "core/transfer.h"
#include "cuda_runtime.h"
#include "memory/step.h"
#include "ops/batch_norm/batch_norm_relu.h"
#include "ops/ops.h"
#include "tests/data_testing.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace cuda {
namespace {

constexpr int64_t kScratch = 100'000;  // more than our own kernels want
std::atomic<int> asked = 0;            // by several threads
int queued = 0, slowness = 0;

// In double, but for the mean and the inverse standard deviation, as cuDNN has them in f32.
template <class T>
void normalise(const Norm& v, float eps, std::span<void* const> tensors) {
  const auto row = [&](size_t k) { return static_cast<float*>(tensors[k]); };
  const size_t y_at = v.residual ? 4 : 3;
  const auto* const x = static_cast<const T*>(tensors[0]);
  const auto* const residual = v.residual ? static_cast<const T*>(tensors[3]) : nullptr;
  auto* const y = static_cast<T*>(tensors[y_at]);
  const float *const gamma = row(1), *const beta = row(2);
  float *const mean = row(y_at + 1), *const inverse = row(y_at + 2);
  const auto rows = static_cast<double>(v.rows);
  for (int64_t c = 0; c < v.channels; ++c) {
    double m = 0, variance = 0;
    for (int64_t i = c; i < v.rows * v.channels; i += v.channels)
      m += static_cast<double>(x[i]) / rows;
    for (int64_t i = c; i < v.rows * v.channels; i += v.channels)
      variance += std::pow(static_cast<double>(x[i]) - m, 2) / rows;
    mean[c] = static_cast<float>(m);
    inverse[c] = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(eps)));
    for (int64_t i = c; i < v.rows * v.channels; i += v.channels) {
      const float normal = (static_cast<float>(x[i]) - mean[c]) * inverse[c];
      const float sum =
          normal * gamma[c] + beta[c] + (residual ? static_cast<float>(residual[i]) : 0);
      y[i] = static_cast<T>(v.relu ? std::max(sum, 0.0f) : sum);
    }
  }
}

}  // namespace

std::optional<LibraryPlan> norm_plan(const Norm&) {
  ++asked;
  return LibraryPlan{.engine = 0, .workspace = kScratch};
}

std::function<void()> norm_by_library(const Norm& v, float eps, std::span<void* const> tensors,
                                      std::span<std::byte> workspace) {
  for (const void* tensor : tensors)
    if (reinterpret_cast<uintptr_t>(tensor) % 16 != 0) return {};
  if (std::ssize(workspace) < kScratch) return {};
  return [=, all = std::vector<void*>(tensors.begin(), tensors.end())] {
    ++queued;
    for (int i = 0; i < slowness; ++i) simulated::queue(stream(), [] {});
    simulated::queue(stream(), [=] {
      v.dtype == DType::f16 ? normalise<Half>(v, eps, all) : normalise<BFloat16>(v, eps, all);
    });
  };
}

std::string plan_library() { return "a stand-in 1"; }

}  // namespace cuda

namespace {

using Tensors = std::vector<Tensor>;

Tensor drawn(const Shape& shape, DType dtype, uint64_t key) {
  return to_device(cast(normal(shape, 0.5, 2, key), dtype), Device::cuda);
}

// x, gamma, beta, and a residual.
Tensors inputs(int64_t rows, int64_t channels, DType dtype) {
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  return {drawn({rows, channels}, dtype, 1), drawn({channels}, wide, 2), drawn({channels}, wide, 3),
          drawn({rows, channels}, dtype, 4)};
}

enum class Form { norm, relu, add_relu };

BatchNormResult run(Form form, const Tensors& in) {
  if (form == Form::norm) return batch_norm(in[0], in[1], in[2]);
  return batch_norm_relu(in[0], in[1], in[2], form == Form::relu ? Tensor() : in[3]);
}

// Results, and the gradients, which read what the forward op left.
Tensors all_of(Form form, Tensors in) {
  for (Tensor& x : in) x = x.require_grad();
  const size_t count = form == Form::add_relu ? 4 : 3;
  const auto [y, mean, variance] = run(form, in);
  Tensors all{y.detach(), mean, variance};
  const Tensor seed = drawn(y.shape(), y.dtype(), 9);
  for (const Tensor& g : gradients(y, std::span(in).first(count), {.seed = seed})) all.push_back(g);
  return all;
}

std::vector<std::vector<double>> bits(const Tensors& tensors) {
  std::vector<std::vector<double>> all;
  for (const Tensor& t : tensors) all.push_back(t.to_vector<double>());
  return all;
}

class NormWays : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PLIMSOLL_CUDA_PLANS", folder_.path().c_str(), 1);
    set_autotune(false);
    cuda::asked = 0;
    cuda::queued = cuda::slowness = 0;
  }
  void TearDown() override { set_autotune(false); }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  const data::TemporaryFolder folder_;
};

TEST_F(NormWays, TheLibraryIsNotAskedUnlessAlgorithmsAreTimed) {
  for (const Form form : {Form::norm, Form::relu, Form::add_relu})
    all_of(form, inputs(64, 16, DType::f16));
  EXPECT_EQ(cuda::asked, 0);
  EXPECT_EQ(cuda::queued, 0);
  EXPECT_EQ(files(), 0u);
}

// Then its results are what ours are, but for rounding, and the gradients made of them too.
TEST_F(NormWays, TheFasterOneIsTaken) {
  size_t choices = 0;
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const Form form : {Form::norm, Form::relu, Form::add_relu}) {
      const Tensors in = inputs(96, 16, dtype);
      set_autotune(false);
      const Tensors ours = all_of(form, in);
      set_autotune(true);
      all_of(form, in);
      EXPECT_EQ(files(), ++choices);
      const int before = cuda::queued;
      for (int i = 0; i < 64; ++i) drawn({4096}, DType::f32, 5);  // what is not written is no zero
      const Tensors theirs = all_of(form, in);
      EXPECT_EQ(cuda::queued, before + 1);  // no longer timed
      ASSERT_EQ(theirs.size(), ours.size());
      for (size_t k = 0; k < ours.size(); ++k) {
        EXPECT_EQ(theirs[k].meta(), ours[k].meta());
        EXPECT_LT(relative_error(to_array(to_device(theirs[k], Device::cpu)),
                                 to_array(to_device(ours[k], Device::cpu))),
                  dtype == DType::f16 ? 4e-3 : 3e-2)
            << "output " << k;
      }
      set_autotune(false);  // and not to be seen without the option
      EXPECT_EQ(bits(all_of(form, in)), bits(ours));
      EXPECT_EQ(cuda::queued, before + 1);
    }
}

TEST_F(NormWays, OursAreTakenWhereTheyAreFaster) {
  cuda::slowness = 9;
  const Tensors in = inputs(80, 24, DType::bf16);
  const Tensors ours = all_of(Form::add_relu, in);
  set_autotune(true);
  all_of(Form::add_relu, in);
  const int timed = cuda::queued;
  EXPECT_GT(timed, 0);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(bits(all_of(Form::add_relu, in)), bits(ours));
  EXPECT_EQ(cuda::queued, timed);
}

// The variance comes from the inverse standard deviation: of equal elements it is 0, and without
// eps too.
TEST_F(NormWays, OfEqualElementsTheVarianceIsZero) {
  set_autotune(true);
  const Tensor x = full({48, 8}, 3, {.dtype = DType::f16, .device = Device::cuda});
  const Tensor ones = plimsoll::ones({8}, {.device = Device::cuda});
  for (const double eps : {1e-5, 1e-3, 0.0}) {
    const auto result = batch_norm(x, ones, ones, eps);
    for (const double v : result.variance.to_vector<double>()) EXPECT_LT(v, 1e-10);
    for (const double v : result.variance.to_vector<double>()) EXPECT_GE(v, 0);
    EXPECT_EQ(result.mean.to_vector<double>(), std::vector<double>(8, 3));
  }
  EXPECT_GT(cuda::queued, 3);
}

TEST_F(NormWays, WhatTheLibraryDoesNotTakeIsOurs) {
  set_autotune(true);
  for (const DType dtype : {DType::f32, DType::f64}) all_of(Form::relu, inputs(32, 8, dtype));
  EXPECT_EQ(cuda::asked, 0);
  Tensors in = inputs(40, 8, DType::f16);
  in[0] = reshape(slice(drawn({321}, DType::f16, 5), 0, 1, 321), {40, 8});  // not on 16 bytes
  const Tensors result = all_of(Form::relu, in);
  EXPECT_EQ(cuda::queued, 0);
  EXPECT_EQ(files(), 0u);  // which says nothing about those that it takes
  set_autotune(false);
  EXPECT_EQ(bits(all_of(Form::relu, in)), bits(result));
}

// In processes of their own, which have chosen nothing yet: with other sizes, types, inputs or
// another op it is another choice, which a later process finds.
TEST_F(NormWays, ChoicesAreKept) {
  const auto takes_library = [&](int slowness, Form form, int64_t rows, DType dtype) {
    const auto run_it = [&] {
      set_autotune(true);
      cuda::slowness = slowness;
      const Tensors in = inputs(rows, 32, dtype);
      run(form, in);
      const int before = cuda::queued;
      run(form, in);
      return cuda::queued > before;
    };
    bool taken = true;
    EXPECT_EXIT(
        std::_Exit(run_it() ? 10 : 11),
        [&](int status) {
          taken = WIFEXITED(status) && WEXITSTATUS(status) == 10;
          return taken || (WIFEXITED(status) && WEXITSTATUS(status) == 11);
        },
        "");
    return taken;
  };
  EXPECT_TRUE(takes_library(0, Form::relu, 16, DType::f16));
  EXPECT_TRUE(takes_library(9, Form::relu, 16, DType::f16));  // not timed again
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(takes_library(9, Form::relu, 48, DType::f16));
  EXPECT_FALSE(takes_library(9, Form::relu, 16, DType::bf16));
  EXPECT_FALSE(takes_library(9, Form::add_relu, 16, DType::f16));
  EXPECT_FALSE(takes_library(9, Form::norm, 16, DType::f16));
  EXPECT_EQ(files(), 5u);
  EXPECT_FALSE(takes_library(0, Form::norm, 16, DType::f16));
}

// The first run of a step times, the next one is recorded, those after it are a graph: all have the
// bits of eager ones. The plan has the library's workspace.
TEST_F(NormWays, StepsHaveTheBitsOfEagerOnes) {
  set_autotune(true);
  const auto function = [](std::span<const Tensor> in) {
    return Tensors{relu(batch_norm(in[0], in[1], in[2]).y + in[3])};
  };
  for (const bool norms : {false, true}) {
    const Tensors in = inputs(norms ? 112 : 128, 8, DType::f16);
    const auto eager = norms ? Tensors{run(Form::add_relu, in).y} : function(in);
    Step step(StepFunction(function), {.fusion = {.norms = norms}});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(bits(step.run(in)), bits(eager));
    Metas metas;
    for (const Tensor& x : in) metas.push_back(x.meta());
    EXPECT_EQ(step.program(metas).instructions[0].op->name,
              std::string_view(norms ? "batch_norm_relu" : "batch_norm"));
    EXPECT_EQ(step.program(metas).instructions[0].workspace, cuda::kScratch);
  }
  EXPECT_GT(cuda::queued, 0);
}

}  // namespace
}  // namespace plimsoll
