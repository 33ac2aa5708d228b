// Batch norms that cuDNN does beside those of our own kernels, on a GPU; skipped by name where
// there is none. Which of them runs in a step is chosen by time (norm_ways_test.cpp).
#include <gtest/gtest.h>

#include <cmath>

#include "core/cuda/norm.h"
#include "core/transfer.h"
#include "ops/batch_norm/batch_norm_relu.h"
#include "ops/ops.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

constexpr float kEps = 1e-5f;

struct Results {
  Tensor y, mean, inverse;
};

class CudaNorms : public testing::TestWithParam<std::tuple<DType, bool, bool>> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    if (!cuda::norm_plan || !cuda::norm_plan(norm(4096, 64)))
      GTEST_SKIP() << "cuDNN is missing, or has no plan for batch norm";
  }

  cuda::Norm norm(int64_t rows, int64_t channels) const {
    const auto [dtype, residual, relu] = GetParam();
    return {dtype, rows, channels, residual, relu};
  }

  static Tensor there(const Shape& shape, DType dtype, double mean, uint64_t key) {
    return to_device(cast(normal(shape, mean, 1, key), dtype), Device::cuda);
  }
  // x, gamma, beta, and a residual.
  std::vector<Tensor> inputs(int64_t rows, int64_t channels, double mean = 0.5) const {
    const DType dtype = std::get<0>(GetParam());
    std::vector in{there({rows, channels}, dtype, mean, 1), there({channels}, DType::f32, 1, 2),
                   there({channels}, DType::f32, 0, 3)};
    if (norm(rows, channels).residual) in.push_back(there({rows, channels}, dtype, 0, 4));
    return in;
  }

  Results by_library(const std::vector<Tensor>& in) const {
    const int64_t rows = in[0].shape()[0], channels = in[0].shape()[1];
    const Placement wide{.dtype = DType::f32, .device = Device::cuda};
    const Results results{zeros(in[0].shape(), {.dtype = in[0].dtype(), .device = Device::cuda}),
                          zeros({channels}, wide), zeros({channels}, wide)};
    const auto plan = cuda::norm_plan(norm(rows, channels));
    EXPECT_TRUE(plan);
    const Tensor scratch =
        zeros({plan ? plan->workspace : 0}, {.dtype = DType::u8, .device = Device::cuda});
    std::vector<void*> tensors;
    for (const Tensor& x : in) tensors.push_back(view_of(x.value()).data);
    for (const Tensor& x : {results.y, results.mean, results.inverse})
      tensors.push_back(view_of(x.value()).data);
    const std::span workspace(static_cast<std::byte*>(view_of(scratch.value()).data),
                              static_cast<size_t>(count(scratch.shape())));
    const auto queue = cuda::norm_by_library(norm(rows, channels), kEps, tensors, workspace);
    EXPECT_TRUE(queue);
    if (queue) queue();
    results.y.to_vector<float>();  // waits while the workspace is there
    return results;
  }

  static Array array(const Tensor& x) { return to_array(to_device(x, Device::cpu)); }
  static Array inverse(const BatchNormResult& of) {
    Array all = array(of.variance);
    for (double& v : all.values) v = 1 / std::sqrt(v + static_cast<double>(kEps));
    return all;
  }

  BatchNormResult by_our_kernels(const std::vector<Tensor>& in) const {
    const auto [dtype, residual, relu] = GetParam();
    if (!relu) return batch_norm(in[0], in[1], in[2], kEps);
    return batch_norm_relu(in[0], in[1], in[2], residual ? in[3] : Tensor(), kEps);
  }
};

// Those of 16 bits are rounded once more by ours where something follows.
TEST_P(CudaNorms, AreThoseOfOurKernels) {
  const double tolerance = std::get<0>(GetParam()) == DType::f16 ? 2e-3 : 1.6e-2;
  for (const auto& [rows, channels] :
       {std::pair<int64_t, int64_t>{4096, 64}, {1000, 16}, {784, 2048}, {200'704, 128}}) {
    const std::vector<Tensor> in = inputs(rows, channels);
    const Results theirs = by_library(in);
    const BatchNormResult ours = by_our_kernels(in);
    EXPECT_LT(relative_error(array(theirs.y), array(ours.y)), tolerance) << rows;
    EXPECT_LT(relative_error(array(theirs.mean), array(ours.mean)), 1e-5) << rows;
    EXPECT_LT(relative_error(array(theirs.inverse), inverse(ours)), 1e-5) << rows;
    EXPECT_EQ(by_library(in).y.to_vector<float>(), theirs.y.to_vector<float>()) << rows;
  }
}

// A variance that is a difference of sums in f32 would be off by 2^-24 of this mean's square, 0.004,
// or by more: of a variance of 1 or little more (bf16 has 255, 256 and 258, and x is what it has),
// the inverse deviation by more than 1e-3.
TEST_P(CudaNorms, HoldFarFromZero) {
  const std::vector<Tensor> in = inputs(200'704, 64, /*mean=*/256);
  EXPECT_LT(relative_error(array(by_library(in).inverse), inverse(by_our_kernels(in))), 3e-4);
}

TEST_P(CudaNorms, KeepANaN) {
  std::vector<Tensor> in = inputs(1000, 16);
  std::vector<float> beta(16, 0);
  beta[5] = std::nanf("");
  in[2].write(std::span<const float>(beta));
  const std::vector<float> y = by_library(in).y.to_vector<float>();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 16 == 5) << i;
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaNorms,
                         testing::Combine(testing::Values(DType::f16, DType::bf16), testing::Bool(),
                                          testing::Values(true)));
INSTANTIATE_TEST_SUITE_P(Alone, CudaNorms,
                         testing::Combine(testing::Values(DType::f16, DType::bf16),
                                          testing::Values(false), testing::Values(false)));

}  // namespace
}  // namespace plimsoll
