// Attention by a library or by our own kernels, whichever is faster, in the simulation: with a
// stand-in for cuDNN, which takes as long as it is told (simulated time is pieces of queued work).
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "autograd/gradients.h"
#include "core/autotune.h"
#include "core/cuda/attention.h"
#include "core/cuda/runtime.h"
#include "core/half.h"
#include "core/transfer.h"
#include "ops/ops.h"
#include "tests/data_testing.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

// What the stand-in did, and how it is.
struct Library {
  int forward = 0, backward = 0;
  int slower = 0;  // pieces of work that do nothing
  std::string version = "stand-in 1";
} library;

struct Problem {
  int64_t batch, heads, length, features;
  double scale;
  cuda::Attention::Strides strides;  // of q, k and v, which lie alike; the others are dense
  int64_t in(int64_t b, int64_t i, int64_t h) const {
    return b * strides[0] + i * strides[1] + h * strides[2];
  }
  int64_t at(int64_t b, int64_t i, int64_t h) const {
    return ((b * length + i) * heads + h) * features;
  }
  int64_t row(int64_t b, int64_t h, int64_t i) const { return (b * heads + h) * length + i; }
};
using Values = const BFloat16*;

double dot(Values a, Values b, int64_t n) {
  double sum = 0;
  for (int64_t d = 0; d < n; ++d) sum += static_cast<float>(a[d]) * static_cast<float>(b[d]);
  return sum;
}
void add(std::vector<double>& sum, int64_t at, double weight, Values x, int64_t n) {
  for (int64_t d = 0; d < n; ++d)
    sum[static_cast<size_t>(at + d)] += weight * static_cast<double>(static_cast<float>(x[d]));
}
void store(const std::vector<double>& sum, void* to) {
  for (size_t i = 0; i < sum.size(); ++i)
    static_cast<BFloat16*>(to)[i] = BFloat16(static_cast<float>(sum[i]));
}

// visit(b, h, i, j) for each query i and each key j that it sees.
template <class F>
void for_pairs(const Problem& p, const F& visit) {
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads; ++h)
      for (int64_t i = 0; i < p.length; ++i)
        for (int64_t j = 0; j <= i; ++j) visit(b, h, i, j);
}

void forward(const Problem& p, const std::vector<void*>& t) {
  const Values q = static_cast<Values>(t[0]), k = static_cast<Values>(t[1]),
               v = static_cast<Values>(t[2]);
  auto* const log_sum_exp = static_cast<float*>(t[4]);
  const auto size = static_cast<size_t>(p.batch * p.length * p.heads * p.features);
  std::vector<double> out(size), totals(size);  // totals: more than are needed
  const auto weight = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return std::exp(p.scale * dot(q + p.in(b, i, h), k + p.in(b, j, h), p.features));
  };
  for_pairs(p, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    totals[static_cast<size_t>(p.row(b, h, i))] += weight(b, h, i, j);
  });
  for_pairs(p, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const double total = totals[static_cast<size_t>(p.row(b, h, i))];
    add(out, p.at(b, i, h), weight(b, h, i, j) / total, v + p.in(b, j, h), p.features);
    log_sum_exp[p.row(b, h, i)] = static_cast<float>(std::log(total));
  });
  store(out, t[3]);
}

void backward(const Problem& p, const std::vector<void*>& t) {
  const Values q = static_cast<Values>(t[0]), k = static_cast<Values>(t[1]),
               v = static_cast<Values>(t[2]), out = static_cast<Values>(t[3]),
               dout = static_cast<Values>(t[4]);
  const auto* const log_sum_exp = static_cast<const float*>(t[5]);
  const int64_t n = p.features;
  std::vector<double> dq(static_cast<size_t>(p.batch * p.length * p.heads * n)), dk(dq), dv(dq);
  for_pairs(p, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t query = p.at(b, i, h), key = p.at(b, j, h);
    const Values qi = q + p.in(b, i, h), kj = k + p.in(b, j, h), vj = v + p.in(b, j, h);
    const double weight = std::exp(p.scale * dot(qi, kj, n) - log_sum_exp[p.row(b, h, i)]);
    const double ds =
        weight * p.scale * (dot(dout + query, vj, n) - dot(dout + query, out + query, n));
    add(dq, query, ds, kj, n);
    add(dk, key, ds, qi, n);
    add(dv, key, weight, dout + query, n);
  });
  store(dq, t[6]);
  store(dk, t[7]);
  store(dv, t[8]);
}

}  // namespace

namespace cuda {

std::optional<LibraryPlan> attention_plan(const Attention&) { return LibraryPlan{0, 0}; }
std::string plan_library() { return library.version; }
std::function<void()> attend_by_library(const Attention& a, float scale,
                                        std::span<void* const> tensors, std::span<std::byte>) {
  for (const void* tensor : tensors)
    if (reinterpret_cast<uintptr_t>(tensor) % 16 != 0) return {};
  const Problem p{a.batch, a.heads, a.length, a.features, scale, a.q};
  return [=, gradient = a.gradient, all = std::vector<void*>(tensors.begin(), tensors.end())] {
    ++(gradient ? library.backward : library.forward);
    simulated::queue(stream(), [=] { gradient ? backward(p, all) : forward(p, all); });
    for (int i = 0; i < library.slower; ++i) simulated::queue(stream(), [] {});
  };
}

}  // namespace cuda

namespace {

enum class Layout { dense, strided, unaligned };  // unaligned: not on a boundary of 16 bytes

class AttentionWays : public testing::Test {
 protected:
  void SetUp() override {
    library = {};
    setenv("PLIMSOLL_CUDA_PLANS", folder_.path().c_str(), 1);
    for (uint64_t i = 0; i < 4; ++i)
      inputs_.push_back(cast(normal({1, 64, 2, 8}, 0, 1, i), DType::bf16));
    for (const Tensor& result : compute(Device::cpu)) right_.push_back(to_array(result));
  }

  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  // In a process of its own, which has chosen nothing yet: the results are those of the CPU, and at
  // the second time the library did this much of it.
  void expect_in_another_process(bool timed, int forward, int backward,
                                 Layout layout = Layout::dense) const {
    const auto run = [&] {
      set_autotune(timed);
      compute(Device::cuda, layout);
      const Library before = library;
      const std::vector<Tensor> results = compute(Device::cuda, layout);
      if (library.forward - before.forward != forward) return 1;
      if (library.backward - before.backward != backward) return 2;
      for (size_t i = 0; i < right_.size(); ++i)
        if (relative_error(to_array(to_device(results[i], Device::cpu)), right_[i]) > 2e-2)
          return 10 + static_cast<int>(i);
      return 0;
    };
    EXPECT_EXIT(std::_Exit(run()), testing::ExitedWithCode(0), "");
  }

 private:
  // The same numbers elsewhere.
  static Tensor laid(const Tensor& x, Layout layout) {
    if (layout == Layout::dense) return x;
    if (layout == Layout::strided) return slice(concat(std::array{x, x}, 2), 2, 0, x.shape()[2]);
    const Tensor one = zeros({1}, {.dtype = x.dtype(), .device = x.device()});
    const int64_t n = count(x.shape());
    return reshape(slice(concat(std::array{one, reshape(x, {n})}, 0), 0, 1, n + 1), x.shape());
  }
  // Both results, and the gradients of the inputs.
  std::vector<Tensor> compute(Device device, Layout layout = Layout::dense) const {
    std::vector<Tensor> x;
    for (size_t i = 0; i < 3; ++i)
      x.push_back(laid(to_device(inputs_[i], device), layout).require_grad());
    const AttentionResult y = attention(x[0], x[1], x[2]);
    std::vector<Tensor> results{y.out, y.log_sum_exp};
    for (Tensor& dx : gradients(y.out, x, {.seed = to_device(inputs_[3], device)}))
      results.push_back(std::move(dx));
    return results;
  }

  const data::TemporaryFolder folder_;
  std::vector<Tensor> inputs_;  // q, k, v and the gradient of the result
  std::vector<Array> right_;    // of the CPU
};

// Our own forward pass is one piece of work, that of the library two with what is made of its
// log_sum_exp; of the gradient ours is three, and the library's two.
TEST_F(AttentionWays, TheFasterIsTakenAndFoundAgain) {
  expect_in_another_process(false, 1, 1);
  EXPECT_EQ(files(), 0u);
  expect_in_another_process(true, 0, 1);
  EXPECT_EQ(files(), 2u);
  library.slower = 5;
  expect_in_another_process(true, 0, 1);  // it is not timed again
  EXPECT_EQ(files(), 2u);
  expect_in_another_process(false, 1, 1);
  library.version = "stand-in 2";
  expect_in_another_process(true, 0, 0);
  EXPECT_EQ(files(), 4u);
}

// A choice for operands that are dense is none for those that are not.
TEST_F(AttentionWays, StridesAreTasksOfTheirOwn) {
  expect_in_another_process(true, 0, 1);
  EXPECT_EQ(files(), 2u);
  expect_in_another_process(true, 0, 1, Layout::strided);
  EXPECT_EQ(files(), 4u);
}

// It says nothing about the calls that the library does.
TEST_F(AttentionWays, WhatTheLibraryDoesNotTakeIsOursAndNotKept) {
  expect_in_another_process(false, 0, 0, Layout::unaligned);
  expect_in_another_process(true, 0, 0, Layout::unaligned);
  EXPECT_EQ(files(), 0u);
  expect_in_another_process(true, 0, 1);
  EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace plimsoll
