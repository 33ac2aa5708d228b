// How fast the ops run, beside what this machine can do at that moment: arithmetic as GFLOP/s and
// as a share of the fused multiply-adds that registers alone allow, memory traffic as GB/s and as a
// share of a plain copy's rate. The operations of a convolution are those of the direct sum.
//
//   op_speed --benchmark_filter=matmul          // Google Benchmark's options
//
// The clock of a machine drifts, so its peak is measured after every call, and the share is the
// median over all calls.
#include <benchmark/benchmark.h>

#include <functional>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "bench/median.h"
#include "bench/peak.h"
#include "core/base/philox.h"
#include "ops/ops.h"

using namespace plimsoll;

namespace {

Tensor random(const Shape& shape) {
  static Keys keys(1);
  return normal(shape, 0, 1, keys.next());
}

enum class Bound { arithmetic, memory };

// `work` is floating-point operations or bytes of one call of f.
void add(const std::string& name, Bound bound, double work, std::function<void()> f) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        std::vector<double> rates, shares;
        for (auto _ : state) {
          const double seconds = seconds_of(f);
          const double peak = bound == Bound::arithmetic ? peak_flops() : copy_rate();
          rates.push_back(work / seconds);
          shares.push_back(rates.back() / peak);
          state.SetIterationTime(seconds);
        }
        state.counters[bound == Bound::arithmetic ? "GFLOP/s" : "GB/s"] = median(rates) * 1e-9;
        state.counters["share"] = median(shares);
      })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// The same, for the call and for the call with its gradients.
void add_with_gradients(const std::string& name, Bound bound, double forward, double both,
                        std::vector<Tensor> inputs,
                        std::function<Tensor(std::span<const Tensor>)> f) {
  add(name, bound, forward, [=] {
    const NoGrad scope;
    f(inputs);
  });
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(input.require_grad());
  const Meta y = f(inputs).meta();
  const Tensor like = ones(y.shape, {.dtype = y.dtype});
  add(name + "/with_gradients", bound, both, [=] { gradients(f(leaves), leaves, {.seed = like}); });
}

void add_products() {
  const auto flops = [](int64_t m, int64_t n, int64_t k) {
    return 2.0 * static_cast<double>(m * n * k);
  };
  struct Sizes {
    int64_t m, n, k;
  };
  const Sizes sizes[] = {{1024, 1024, 1024}, {2048, 256, 256}, {2048, 1024, 256}, {2048, 256, 1024},
                         {2048, 768, 256},   {4096, 768, 256}, {128, 1024, 3136}, {4096, 256, 256}};
  for (const auto& [m, n, k] : sizes) {
    const std::string name = cat(m, "x", n, "x", k);
    const Tensor x = random({m, k}), w = random({n, k}), dy = random({m, n});
    add("linear/" + name, Bound::arithmetic, flops(m, n, k), [=] { linear(x, w); });
    add("linear_bf16/" + name, Bound::arithmetic, flops(m, n, k),
        [x = cast(x, DType::bf16), w = cast(w, DType::bf16)] { linear(x, w); });
    add("linear_input_grad/" + name, Bound::arithmetic, flops(m, n, k), [=] { matmul(dy, w); });
    add("linear_weight_grad/" + name, Bound::arithmetic, flops(m, n, k),
        [=] { matmul(transpose(dy), x); });
  }
}

void add_convolutions() {
  struct Sizes {
    int64_t n, side, in, out, filter, groups;
  };
  const Sizes sizes[] = {{128, 28, 1, 32, 5, 1},  {128, 14, 32, 64, 5, 1},  {64, 32, 16, 16, 3, 1},
                         {64, 32, 64, 64, 3, 1},  {64, 16, 128, 128, 3, 1}, {64, 8, 256, 256, 3, 1},
                         {64, 32, 64, 128, 1, 1}, {64, 32, 64, 64, 3, 64}};
  for (const auto& [n, side, in, out, filter, groups] : sizes) {
    const Tensor x = random({n, side, side, in}), w = random({out, filter, filter, in / groups});
    const Tensor dy = random({n, side, side, out});
    const Conv2dAttrs attrs{.padding = filter / 2, .groups = groups};
    const double flops = 2.0 * static_cast<double>(dy.count() * filter * filter * in / groups);
    const std::string name = cat(n, "x", side, "x", side, "x", in, "_", out, "x", filter, "x",
                                 filter, "_groups", groups);
    add("conv2d/" + name, Bound::arithmetic, flops, [=] { conv2d(x, w, attrs); });
    add("conv2d_input_grad/" + name, Bound::arithmetic, flops, [=] {
      conv2d_input_grad(dy, w, {x.size(1), x.size(2)}, attrs);
    });
    add("conv2d_weight_grad/" + name, Bound::arithmetic, flops,
        [=] { conv2d_weight_grad(x, dy, filter, attrs); });
  }
}

void add_attentions() {
  struct Sizes {
    int64_t b, t, h, d;
    bool causal;
  };
  for (const auto& [b, t, h, d, causal] :
       {Sizes{8, 256, 8, 32, true}, {32, 128, 2, 128, false}, {2, 1024, 8, 64, true}}) {
    // Two products forward and five backward, over the pairs that see each other.
    const double product = 2.0 * static_cast<double>(b * h * t * d * (causal ? (t + 1) / 2 : t));
    const AttentionAttrs attrs{.causal = causal};
    add_with_gradients(
        cat("attention/", b, "x", t, "x", h, "x", d, causal ? "_causal" : ""), Bound::arithmetic,
        2 * product, 7 * product,
        {random({b, t, h, d}), random({b, t, h, d}), random({b, t, h, d})},
        [=](std::span<const Tensor> in) { return attention(in[0], in[1], in[2], attrs).out; });
  }
}

void add_memory_bound() {
  const Tensor x = random({8192, 768}), y = random({8192, 768}), gain = random({768});
  const double bytes = 4.0 * static_cast<double>(x.count());
  add("add", Bound::memory, 3 * bytes, [=] { x + y; });
  add("add_row", Bound::memory, 2 * bytes, [=] { x + gain; });
  add("transpose", Bound::memory, 2 * bytes, [=] { contiguous(transpose(x)); });
  add("relu", Bound::memory, 2 * bytes, [=] { relu(x); });
  add("gelu", Bound::memory, 2 * bytes, [=] { gelu(x); });
  add("exp", Bound::memory, 2 * bytes, [=] { exp(x); });
  add("softmax", Bound::memory, 2 * bytes, [=] { softmax(x); });
  add("sum_rows", Bound::memory, bytes, [=] { sum(x, {0}); });
  add("dropout", Bound::memory, 2 * bytes, [=] { dropout(x, 0.1, make_key(1, 1), 0); });
  add_with_gradients("layer_norm", Bound::memory, 2 * bytes, 5 * bytes, {x, gain, gain},
                     [](std::span<const Tensor> in) { return layer_norm(in[0], in[1], in[2]); });
  // x is read twice, and so is it with dy for the gradient.
  const auto normalise = [](std::span<const Tensor> in) {
    return batch_norm(in[0], in[1], in[2]).y;
  };
  add_with_gradients("batch_norm", Bound::memory, 3 * bytes, 8 * bytes, {x, gain, gain}, normalise);
  add_with_gradients("batch_norm_bf16", Bound::memory, 1.5 * bytes, 4 * bytes,
                     {cast(x, DType::bf16), gain, gain}, normalise);
  const Tensor variance = ones({768}), narrow = cast(x, DType::bf16);
  add("batch_norm_inference", Bound::memory, 2 * bytes,
      [=] { batch_norm_inference(x, gain, gain, gain, variance); });
  add("batch_norm_inference_bf16", Bound::memory, bytes,
      [=] { batch_norm_inference(narrow, gain, gain, gain, variance); });
  add("argmax_rows", Bound::memory, bytes, [=] { argmax(x, 0); });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("level", cpu_level());
  add_products();
  add_convolutions();
  add_attentions();
  add_memory_bound();
  benchmark::RunSpecifiedBenchmarks();
}
