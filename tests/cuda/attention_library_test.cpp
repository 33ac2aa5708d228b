// Attention by cuDNN in the simulation, with a stand-in for it: what it is given, what is made of
// its results, and who does the rest.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include "autograd/gradients.h"
#include "core/base/half.h"
#include "core/cuda/runtime.h"
#include "core/cuda/vendor/attention.h"
#include "core/engine/apply.h"
#include "core/engine/transfer.h"
#include "ops/ops.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

struct {
  int forward = 0, backward = 0;
} calls;

// The elements that a tensor of the library's has, as f32 [B, T, H, D].
Tensor read(const void* data, const cuda::Attention& a, const cuda::Attention::Strides& strides) {
  const auto* const from = static_cast<const BFloat16*>(data);
  std::vector<float> values;
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t t = 0; t < a.length; ++t)
      for (int64_t h = 0; h < a.heads; ++h)
        for (int64_t d = 0; d < a.features; ++d)
          values.push_back(
              static_cast<float>(from[b * strides[0] + t * strides[1] + h * strides[2] + d]));
  return Tensor::of<float>(values, {a.batch, a.length, a.heads, a.features});
}

void write(const Tensor& x, void* to) {
  const std::vector<float> values = x.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) static_cast<BFloat16*>(to)[i] = BFloat16(values[i]);
}

}  // namespace

namespace cuda {

std::optional<LibraryPlan> attention_plan(const Attention&) { return LibraryPlan{0, 0}; }

// By the CPU's kernels, which see the memory of this device.
bool attend_by_library(const Attention& a, float scale, std::span<void* const> t,
                       std::span<std::byte>) {
  for (const void* tensor : t)
    if (reinterpret_cast<uintptr_t>(tensor) % 16 != 0) return false;
  ++(a.gradient ? calls.backward : calls.forward);
  wait();
  const ApplyModeScope scope({});  // a gradient calls this without a tape
  const Tensor q = read(t[0], a, a.q).require_grad(), k = read(t[1], a, a.k).require_grad(),
               v = read(t[2], a, a.v).require_grad();
  const AttentionResult y = attention(q, k, v, {.scale = scale});
  const std::vector<float> log_sum_exp = y.log_sum_exp.to_vector<float>();
  auto* const rows = static_cast<float*>(t[a.gradient ? 5 : 4]);
  if (!a.gradient) {
    write(y.out, t[3]);
    std::copy(log_sum_exp.begin(), log_sum_exp.end(), rows);
    return true;
  }
  for (size_t i = 0; i < log_sum_exp.size(); ++i) EXPECT_NEAR(rows[i], log_sum_exp[i], 1e-5);
  EXPECT_LT(relative_error(to_array(read(t[3], a, a.dense())), to_array(y.out)), 1e-2);
  const std::vector<Tensor> in{q, k, v};
  const std::vector<Tensor> grads = gradients(y.out, in, {.seed = read(t[4], a, a.dense())});
  for (size_t i = 0; i < 3; ++i) write(grads[i], t[6 + i]);
  return true;
}

}  // namespace cuda

namespace {

enum class Layout { dense, strided, unaligned };  // unaligned: not on a boundary of 16 bytes

// The same numbers elsewhere.
Tensor laid(const Tensor& x, Layout layout) {
  if (layout == Layout::dense) return x;
  if (layout == Layout::strided) return slice(concat(std::array{x, x}, 2), 2, 0, x.shape()[2]);
  const Tensor one = zeros({1}, {.dtype = x.dtype(), .device = x.device()});
  const int64_t n = count(x.shape());
  return reshape(slice(concat(std::array{one, reshape(x, {n})}, 0), 0, 1, n + 1), x.shape());
}

// Both results, and the gradients of the inputs.
std::vector<Array> compute(Device device, Layout layout) {
  std::vector<Tensor> x;
  for (uint64_t i = 0; i < 4; ++i)
    x.push_back(to_device(cast(normal({2, 64, 2, 8}, 0, 1, i), DType::bf16), device));
  const Tensor dout = x.back();
  x.pop_back();
  for (Tensor& in : x) in = laid(in, layout).require_grad();
  const AttentionResult y = attention(x[0], x[1], x[2], {.scale = 0.5});
  std::vector<Array> results;
  for (const Tensor& result : {y.out, y.log_sum_exp})
    results.push_back(to_array(to_device(result, Device::cpu)));
  for (const Tensor& dx : gradients(y.out, x, {.seed = dout}))
    results.push_back(to_array(to_device(dx, Device::cpu)));
  return results;
}

TEST(AttentionByCudnn, IsThatOfTheCpu) {
  const std::vector<Array> right = compute(Device::cpu, Layout::dense);
  for (const Layout layout : {Layout::dense, Layout::strided, Layout::unaligned}) {
    calls = {};
    const std::vector<Array> results = compute(Device::cuda, layout);
    EXPECT_EQ(calls.forward, layout != Layout::unaligned);
    EXPECT_EQ(calls.backward, layout != Layout::unaligned);
    for (size_t i = 0; i < right.size(); ++i)
      EXPECT_LT(relative_error(results[i], right[i]), 2e-2) << static_cast<int>(layout) << " " << i;
  }
}

}  // namespace
}  // namespace plimsoll
