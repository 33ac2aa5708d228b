#include "ops/norm/batch_norm/batch_norm.h"

#include <cmath>

#include "autograd/no_grad.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/relu/relu.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr double kEps = 1e-3;

std::vector<Array> reference(const std::vector<Array>& in) {
  const int64_t channels = in[0].shape.back(), rows = count(in[0].shape) / channels;
  Array y(in[0].shape), mean({channels}), variance({channels});
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < rows; ++i) mean[c] += in[0][i * channels + c] / double(rows);
    for (int64_t i = 0; i < rows; ++i)
      variance[c] += std::pow(in[0][i * channels + c] - mean[c], 2) / double(rows);
    for (int64_t i = 0; i < rows; ++i)
      y[i * channels + c] =
          in[1][c] * (in[0][i * channels + c] - mean[c]) / std::sqrt(variance[c] + kEps) + in[2][c];
  }
  return {y, mean, variance};
}

std::vector<Array> reference_y(const std::vector<Array>& in) { return {reference(in)[0]}; }

std::vector<Tensor> call_y(std::span<const Tensor> in) {
  return {batch_norm(in[0], in[1], in[2], kEps).y};
}

std::vector<Tensor> call(std::span<const Tensor> in) {
  const auto [y, mean, variance] = batch_norm(in[0], in[1], in[2], kEps);
  return {y, mean, variance};
}

// What a captured step makes in one kernel.
std::vector<Tensor> call_relu(std::span<const Tensor> in) {
  const DType wide = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
  return {relu(batch_norm(in[0], cast(in[1], wide), cast(in[2], wide), kEps).y)};
}

std::vector<Array> reference_relu(const std::vector<Array>& in) {
  Array y = reference(in)[0];
  for (double& v : y.values) v = std::max(v, 0.0);
  return {y};
}

// Parameters in f32 beside a 16-bit x.
std::vector<Tensor> mixed(std::span<const Tensor> in) {
  const DType wide = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
  return {batch_norm(in[0], cast(in[1], wide), cast(in[2], wide), kEps).y};
}

std::vector<Tensor> inference_mixed(std::span<const Tensor> in) {
  const DType dtype = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
  std::vector<Tensor> wide;
  for (const Tensor& v : in.subspan(1)) wide.push_back(cast(v, dtype));
  return {batch_norm_inference(in[0], wide[0], wide[1], wide[2], wide[3], kEps)};
}

// What a captured step makes in one kernel.
std::vector<Tensor> inference_relu(std::span<const Tensor> in) {
  return {relu(inference_mixed(in)[0])};
}

std::vector<Array> inference_reference(const std::vector<Array>& in) {
  const int64_t channels = in[0].shape.back();
  Array y(in[0].shape);
  for (int64_t i = 0; i < count(y.shape); ++i) {
    const int64_t c = i % channels;
    y[i] = in[1][c] * (in[0][i] - in[3][c]) / std::sqrt(in[4][c] + kEps) + in[2][c];
  }
  return {y};
}

std::vector<Array> inference_relu_reference(const std::vector<Array>& in) {
  Array y = inference_reference(in)[0];
  for (double& v : y.values) v = std::max(v, 0.0);
  return {y};
}

}  // namespace

OpCases batch_norm_cases() {
  const std::vector<DType> wide{DType::f64, DType::f32}, narrow{DType::bf16, DType::f16};
  const auto inputs = [](Shape x, double low = -1, double high = 1) {
    const int64_t c = x.back();
    return std::vector{real(x, low, high), real({c}, 0.5, 1.5), real({c})};
  };
  const auto given_statistics = [](Shape x) {
    const int64_t c = x.back();
    return std::vector{real(x), real({c}), real({c}), real({c}), real({c}, 0.5, 2)};
  };
  const OpCase update{.name = "running",
                      .inputs = {real({3}), real({3}, 0.5, 1.5), real({3}), real({3}, 0.5, 1.5)},
                      .call =
                          [](auto in) {
                            const NoGrad scope;
                            const Tensor mean = clone(in[0]), variance = clone(in[1]);
                            update_running_stats(mean, variance, in[2], in[3], 0.25, 5);
                            return std::vector{mean, variance};
                          },
                      .reference =
                          [](const std::vector<Array>& in) {
                            Array mean = in[0], variance = in[1];
                            for (int64_t c = 0; c < 3; ++c) {
                              mean[c] = 0.75 * mean[c] + 0.25 * in[2][c];
                              variance[c] = 0.75 * variance[c] + 0.25 * in[3][c] * 5 / 4;
                            }
                            return std::vector{mean, variance};
                          },
                      .differentiable = false};
  const OpCase several{
      .name = "running_of_several",
      .inputs = {real({3}), real({3}, 0.5, 1.5), real({4, 3}), real({4, 3}, 0.5, 1.5)},
      .call =
          [](auto in) {
            const NoGrad scope;
            const Tensor mean = clone(in[0]), variance = clone(in[1]);
            update_running_stats(mean, variance, in[2], in[3], 0.25, 5);
            const Tensor two = full({}, 2, {DType::i64, in[0].device()});
            update_running_stats(mean, variance, in[2], in[3], 0.25, 5, two);
            return std::vector{mean, variance};
          },
      .reference =
          [](const std::vector<Array>& in) {
            Array mean = in[0], variance = in[1];
            for (const int64_t b : {0, 1, 2, 3, 0, 1})
              for (int64_t c = 0; c < 3; ++c) {
                mean[c] = 0.75 * mean[c] + 0.25 * in[2][3 * b + c];
                variance[c] = 0.75 * variance[c] + 0.25 * in[3][3 * b + c] * 5 / 4;
              }
            return std::vector{mean, variance};
          },
      .tolerance = 4,  // six roundings after another
      .differentiable = false};
  return {
      .good = {several,
               {.name = "images",
                .inputs = inputs({2, 3, 2, 5}),
                .call = call_y,
                .reference = reference_y,
                .dtypes = wide},
               {.name = "rows",
                .inputs = inputs({7, 3}),
                .call = call_y,
                .reference = reference_y,
                .dtypes = wide},
               {.name = "many_chunks",
                .inputs = inputs({150, 300}),
                .call = call,
                .reference = reference,
                .differentiable = false,
                .dtypes = wide},
               {.name = "large_offset",
                .inputs = inputs({64, 3}, 9999.5, 10000.5),
                .call = call,
                .reference = reference,
                .differentiable = false,
                .dtypes = wide},
               {.name = "one_position",
                .inputs = inputs({1, 4}),
                .call = call_y,
                .reference = reference_y,
                .dtypes = wide},
               {.name = "mixed",
                .inputs = inputs({6, 4}),
                .call = mixed,
                .reference = reference_y,
                .dtypes = narrow},
               // Of more rows, too, than are summed in f32 at a time.
               {.name = "mixed_many_chunks",
                .inputs = inputs({600, 100}),
                .call = mixed,
                .reference = reference_y,
                .dtypes = narrow},
               {.name = "mixed_large_offset",
                .inputs = inputs({600, 100}, 250, 262),
                .call = mixed,
                .reference = reference_y,
                .differentiable = false,
                .dtypes = narrow},
               {.name = "mixed_constant",
                .inputs = inputs({20000, 1}, 27408, 27408),
                .call = mixed,
                .reference = reference_y,
                .differentiable = false,
                .dtypes = narrow},
               {.name = "then_relu",
                .inputs = inputs({150, 36}),
                .call = call_relu,
                .reference = reference_relu,
                .dtypes = wide},
               {.name = "then_relu_mixed",
                .inputs = inputs({150, 100}),
                .call = call_relu,
                .reference = reference_relu,
                .dtypes = narrow},
               // Channels that fall, that are dead and that are too small for f16.
               {.name = "then_relu_signs",
                .inputs = {real({2, 6, 5}), given({5}, {-2, 0, 0, 1e-7, -1e-8}),
                           given({5}, {0.5, 1, -1, 0, 0})},
                .call = call_relu,
                .reference = reference_relu,
                .differentiable = false},
               {.name = "inference",
                .inputs = given_statistics({4, 3}),
                .call =
                    [](auto in) {
                      return std::vector{
                          batch_norm_inference(in[0], in[1], in[2], in[3], in[4], kEps)};
                    },
                .reference = inference_reference,
                .dtypes = wide},
               {.name = "inference_mixed",
                .inputs = given_statistics({4, 3}),
                .call = inference_mixed,
                .reference = inference_reference,
                .dtypes = narrow},
               {.name = "inference_images",
                .inputs = given_statistics({2, 5, 3, 45}),
                .call = inference_mixed,
                .reference = inference_reference},
               {.name = "inference_large_offset",
                .inputs = {real({64, 5}, 9999.5, 10000.5), real({5}), real({5}),
                           real({5}, 9999.5, 10000.5), real({5}, 0.5, 2)},
                .call = inference_mixed,
                .reference = inference_reference,
                .differentiable = false,
                .dtypes = wide},
               {.name = "inference_then_relu",
                .inputs = given_statistics({150, 37}),
                .call = inference_relu,
                .reference = inference_relu_reference,
                .differentiable = false,
                .dtypes = {DType::f32, DType::bf16, DType::f16}},
               update},
      .bad = {
          {"integer statistics",
           [] {
             const auto threes = [] { return full({2}, 3, {.dtype = DType::i64}); };
             update_running_stats(threes(), threes(), threes(), threes(), 0.1, 2);
           },
           "update_running_stats: a floating type is needed: got i64 [2] on cpu. Cast it first."},
          {"channels",
           [] {
             batch_norm(ones({2, 3}), ones({4}), ones({4}));
           },
           "batch_norm: the channels differ: [4] for an input of [2, 3]. Use vectors of the last "
           "axis' size."},
          {"types",
           [] {
             batch_norm(ones({2, 3}, {.dtype = DType::bf16}), ones({3}, {.dtype = DType::bf16}),
                        ones({3}));
           },
           "batch_norm: parameters and statistics of the wrong type: bf16 for an input of bf16. "
           "Keep them in f32."},
          {"empty",
           [] {
             batch_norm(ones({0, 3}), ones({3}), ones({3}));
           },
           "batch_norm: there are no elements to normalise: [0, 3]. Pass at least one position "
           "with one channel."},
          {"eps",
           [] {
             batch_norm(ones({2, 3}), ones({3}), ones({3}), -1);
           },
           "batch_norm: eps is not a number from 0: -1. Use 1e-5 or so."},
          {"inference_eps",
           [] {
             const Tensor v = ones({3});
             batch_norm_inference(ones({2, 3}), v, v, v, v, std::nan(""));
           },
           "batch_norm_inference: eps is not a number from 0: nan. Use 1e-5 or so."},
          {"inference_channels",
           [] {
             const Tensor v = ones({3});
             batch_norm_inference(ones({2, 3}), v, v, v, ones({4}));
           },
           "batch_norm_inference: the channels differ: [4] for an input of [2, 3]. Use vectors of "
           "the last axis' size."},
          {"inference_types",
           [] {
             const Tensor v = ones({3});
             batch_norm_inference(ones({2, 3}, {.dtype = DType::f64}), v, v, v, v);
           },
           "batch_norm_inference: parameters and statistics of the wrong type: f32 for an input of "
           "f64. Keep them in f64."},
          {"inference_undefined",
           [] {
             const Tensor v = ones({3});
             batch_norm_inference(ones({2, 3}), v, v, v, Tensor());
           },
           "batch_norm_inference: the tensor is undefined. Pass one that was computed."},
          {"momentum",
           [] { update_running_stats(ones({1}), ones({1}), ones({1}), ones({1}), 2, 3); },
           "update_running_stats: momentum must be in [0, 1] and n at least 1: momentum 2, n 3. "
           "Use 0.1 and the number of positions."},
          {"batches",
           [] {
             const Tensor one = ones({1});
             update_running_stats(one, clone(one), ones({2, 1}), ones({2, 1}), 0.1, 3, one);
           },
           "update_running_stats: the number of batches is no scalar of i64: got f32 [1] on cpu. "
           "Leave it out to take all."}}};
}

}  // namespace plimsoll
