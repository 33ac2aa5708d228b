#include "ops/norm/batch_norm/batch_norm.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/reduce_axes.h"
#include "ops/norm/batch_norm/attrs.h"
#include "ops/norm/common/rows.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/math/math.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(batch_norm_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_grad_cuda);
PLIMSOLL_CUDA_KERNEL(update_running_stats_cuda);

batch_norm_detail::Rows batch_norm_detail::rows_of(const Shape& shape) {
  Rows r{1, shape.back()};
  for (int axis = 0; axis < shape.rank() - 1; ++axis) r.rows *= shape[axis];
  return r;
}

namespace {

using namespace batch_norm_detail;
using namespace norm_detail;

// DTypeError or ShapeError unless x has elements and the other inputs are vectors of its channels,
// in f32 (f64 when x is f64).
void check_channels(const char* name, std::span<const Meta> in) {
  const Meta& x = in[0];
  check_floating(name, x);
  check<ShapeError>(x.shape.rank() >= 1 && count(x.shape) > 0, name,
                    ": there are no elements to normalise: ", x.shape,
                    ". Pass at least one position with one channel.");
  for (const Meta& v : in.subspan(1)) {
    check<ShapeError>(v.shape == Shape{x.shape.back()}, name, ": the channels differ: ", v.shape,
                      " for an input of ", x.shape, ". Use vectors of the last axis' size.");
    check<DTypeError>(v.dtype == compute_dtype(x.dtype), name,
                      ": parameters and statistics of the wrong type: ", v.dtype,
                      " for an input of ", x.dtype, ". Keep them in ", compute_dtype(x.dtype), ".");
  }
}

int64_t chunk_rows(const Rows& r) { return grain_for(r.channels); }

// The two partial vectors [C] of the chunk that begins at `row`.
struct Partial {
  double *first, *second;
  Partial(std::span<std::byte> scratch, const Rows& r, int64_t row)
      : first(reinterpret_cast<double*>(scratch.data()) + row / chunk_rows(r) * 2 * r.channels),
        second(first + r.channels) {}
};

// In the order of the chunks, into the partial vectors of the first one.
void combine(std::span<std::byte> scratch, const Rows& r) {
  const Partial all(scratch, r, 0);
  parallel_for(r.channels, 64, [&](int64_t begin, int64_t end) {
    by_columns<double>(end - begin, [&]<class V, int W>(int64_t c) {
      c += begin;
      Moments<V> moments[W];
      for (int64_t row = 0; row < r.rows; row += chunk_rows(r)) {
        const Partial part(scratch, r, row);
        const auto k = static_cast<double>(std::min(chunk_rows(r), r.rows - row));
        for (int w = 0; w < W; ++w)
          moments[w].add(k, load_column<V>(part.first + c, w), load_column<V>(part.second + c, w));
      }
      for (int w = 0; w < W; ++w) {
        store_column(all.first + c, w, moments[w].mean);
        store_column(all.second + c, w, moments[w].m2);
      }
    });
  });
}

template <class T>
void forward_typed(const Call& call, double eps) {
  using S = Compute<T>;
  const Rows r = rows_of(call.in[0].shape());
  const int64_t channels = r.channels;
  const T* x = call.in[0].as<T>();
  const S *gamma = call.in[1].as<S>(), *beta = call.in[2].as<S>();
  T* y = call.out[0].as<T>();
  S *mean = call.out[1].as<S>(), *variance = call.out[2].as<S>();
  S *inverse_std = call.out[3].as<S>(), *tail = call.out[4].as<S>();
  parallel_for(r.rows, chunk_rows(r), [&](int64_t begin, int64_t end) {
    const Partial part(call.workspace, r, begin);
    chunk_statistics(x + begin * channels, end - begin, channels, part.first, part.second);
  });
  combine(call.workspace, r);
  const Partial all(call.workspace, r, 0);
  for (int64_t c = 0; c < channels; ++c) {
    const double v = all.second[c] / static_cast<double>(r.rows);
    mean[c] = static_cast<S>(all.first[c]);
    variance[c] = static_cast<S>(v);
    inverse_std[c] = static_cast<S>(1 / std::sqrt(v + eps));
    tail[c] = static_cast<S>(all.first[c] - static_cast<double>(mean[c]));
  }
  parallel_for(r.rows, chunk_rows(r), [=](int64_t begin, int64_t end) {
    by_columns<S>(channels, [=]<class V, int W>(int64_t c) {
      V m[W], t[W], inv[W], scale[W], shift[W];
      for (int w = 0; w < W; ++w) {
        m[w] = load_column<V>(mean + c, w), t[w] = load_column<V>(tail + c, w);
        inv[w] = load_column<V>(inverse_std + c, w);
        scale[w] = load_column<V>(gamma + c, w), shift[w] = load_column<V>(beta + c, w);
      }
      for (int64_t i = begin; i < end; ++i)
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const int64_t at = i * channels + c;
          V v = (load_column<V>(x + at, w) - m[w] - t[w]) * inv[w];
          v = v * scale[w] + shift[w];
          store_column<V>(y + at, w, v);
        }
    });
  });
}

// With n = (x - mean) inverse_std: dbeta = sum dy, dgamma = sum dy n,
// dx = gamma inverse_std (dy - dbeta / R - n dgamma / R).
// dx may be dy.
template <class T>
void backward_typed(const Call& call) {
  using S = Compute<T>;
  const std::span<std::byte> workspace = call.workspace;
  const Rows r = rows_of(call.in[1].shape());
  const int64_t channels = r.channels;
  const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
  const S *gamma = call.in[2].as<S>(), *mean = call.in[3].as<S>(), *inv = call.in[4].as<S>();
  const S* tail = call.in[5].as<S>();
  T* dx = call.out[0].as<T>();
  S *dgamma = call.out[1].as<S>(), *dbeta = call.out[2].as<S>();
  parallel_for(r.rows, chunk_rows(r), [&](int64_t begin, int64_t end) {
    const Partial part(workspace, r, begin);
    by_columns<double>(channels, [&]<class V, int W>(int64_t c) {
      V m[W], t[W], factor[W], sum[W] = {}, weighted[W] = {};
      for (int w = 0; w < W; ++w) {
        m[w] = load_column<V>(mean + c, w), t[w] = load_column<V>(tail + c, w);
        factor[w] = load_column<V>(inv + c, w);
      }
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * channels + c;
        prefetch(dy + at, kRowsAhead * channels, W * kLanesOf<V>);
        prefetch(x + at, kRowsAhead * channels, W * kLanesOf<V>);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const V g = load_column<V>(dy + at, w);
          sum[w] += g;
          weighted[w] += g * ((load_column<V>(x + at, w) - m[w] - t[w]) * factor[w]);
        }
      }
      for (int w = 0; w < W; ++w) {
        store_column(part.first + c, w, sum[w]);
        store_column(part.second + c, w, weighted[w]);
      }
    });
  });
  parallel_for(channels, 64, [&](int64_t begin, int64_t end) {
    by_columns<double>(end - begin, [&]<class V, int W>(int64_t c) {
      c += begin;
      V sum[W] = {}, weighted[W] = {};
      for (int64_t row = 0; row < r.rows; row += chunk_rows(r)) {
        const Partial part(workspace, r, row);
        for (int w = 0; w < W; ++w) {
          sum[w] += load_column<V>(part.first + c, w);
          weighted[w] += load_column<V>(part.second + c, w);
        }
      }
      for (int w = 0; w < W; ++w) {
        store_column(dbeta + c, w, sum[w]);
        store_column(dgamma + c, w, weighted[w]);
      }
    });
  });
  const S share = S(1) / static_cast<S>(r.rows);
  parallel_for(r.rows, chunk_rows(r), [=](int64_t begin, int64_t end) {
    by_columns<S>(channels, [=]<class V, int W>(int64_t c) {
      V m[W], t[W], factor[W], scale[W], sum[W], weighted[W];
      for (int w = 0; w < W; ++w) {
        m[w] = load_column<V>(mean + c, w), t[w] = load_column<V>(tail + c, w);
        factor[w] = load_column<V>(inv + c, w);
        scale[w] = load_column<V>(gamma + c, w) * factor[w];
        sum[w] = load_column<V>(dbeta + c, w), weighted[w] = load_column<V>(dgamma + c, w);
      }
      for (int64_t i = begin; i < end; ++i)
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const int64_t at = i * channels + c;
          const V normal = (load_column<V>(x + at, w) - m[w] - t[w]) * factor[w];
          const V g = load_column<V>(dy + at, w);
          store_column<V>(dx + at, w, scale[w] * (g - share * (sum[w] + normal * weighted[w])));
        }
    });
  });
}

// Two f64 partial results per chunk and channel, for each of them on the CPU.
int64_t workspace(const Call& call) {
  const Rows r = rows_of(call.in[0].shape());
  if (call.in[0].device() == Device::cuda) return cuda_reduce_bytes({1, r.rows, r.channels});
  return pieces(r.rows, chunk_rows(r)) * 2 * r.channels * static_cast<int64_t>(sizeof(double));
}

// Inputs: x, gamma, beta. Outputs: y, mean, variance, inverse standard deviation, tail of the mean:
// what its rounding to f32 cut off. x - mean - tail is exact where x lies far from zero.
Metas batch_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_channels("batch_norm", in);
  check_eps("batch_norm", attrs.as<BatchNormAttrs>().eps);
  return {in[0], in[1], in[1], in[1], in[1]};
}

void batch_norm_cpu(const Call& call) {
  const double eps = call.attrs.as<BatchNormAttrs>().eps;
  visit_floating("batch_norm", call.in[0].dtype(), [&]<class T>() { forward_typed<T>(call, eps); });
}

// Inputs: dy, x, gamma, mean, inverse standard deviation, tail. Outputs: dx, dgamma, dbeta.
Metas batch_norm_grad_infer(std::span<const Meta> in, const Attrs&) {
  return {in[0], in[2], in[2]};
}

void batch_norm_grad_cpu(const Call& call) {
  visit_floating("batch_norm_grad", call.in[1].dtype(),
                 [&]<class T>() { backward_typed<T>(call); });
}

constexpr OpDef batch_norm_grad_op{.name = "batch_norm_grad",
                                   .infer = batch_norm_grad_infer,
                                   .cpu = batch_norm_grad_cpu,
                                   .cuda = batch_norm_grad_cuda,
                                   .inplace = 0,
                                   .workspace = workspace};

std::vector<Tensor> batch_norm_vjp(const Backward& b) {
  return apply(batch_norm_grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1),
                                    b.output(3), b.output(4)});
}

// Only y is ever differentiated: the public function takes the statistics off the tape.
constexpr OpDef batch_norm_op{
    .name = "batch_norm",
    .infer = batch_norm_infer,
    .cpu = batch_norm_cpu,
    .cuda = batch_norm_cuda,
    .vjp = {.rule = batch_norm_vjp, .inputs = bits(0, 1), .outputs = bits(1, 3, 4)},
    .workspace = workspace};

Metas running_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [momentum, n] = attrs.as<RunningAttrs>();
  check<ValueError>(momentum >= 0 && momentum <= 1 && n >= 1,
                    "update_running_stats: momentum must be in [0, 1] and n at least 1: momentum ",
                    momentum, ", n ", n, ". Use 0.1 and the number of positions.");
  const auto check_like = [&](const Meta& meta, bool fits) {
    check<ShapeError>(fits, "update_running_stats: the statistics do not match: ", in[0], " and ",
                      meta, ". Use the same shape and type for all four.");
  };
  check_like(in[1], in[1] == in[0]);
  Meta one = in[2];
  if (in[2].shape.rank() > in[0].shape.rank()) {
    one.shape = {};
    for (int axis = 1; axis < in[2].shape.rank(); ++axis) one.shape.push_back(in[2].shape[axis]);
  }
  check_like(in[2], one == in[0]);
  check_like(in[3], in[3] == in[2]);
  if (in.size() > 4)
    check<DTypeError>(in[4] == Meta{{}, DType::i64, in[0].device},
                      "update_running_stats: the number of batches is no scalar of i64: got ",
                      in[4], ". Leave it out to take all.");
  return {};
}

void running_cpu(const Call& call) {
  const double momentum = call.attrs.as<RunningAttrs>().momentum;
  const int64_t n = call.attrs.as<RunningAttrs>().n;
  const double unbiased = n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
  const int64_t channels = count(call.in[0].shape());
  const int64_t all = channels == 0 ? 0 : count(call.in[2].shape()) / channels;
  const int64_t batches = call.in.size() > 4 ? std::min(*call.in[4].as<int64_t>(), all) : all;
  visit_floating("update_running_stats", call.in[0].dtype(), [&]<class T>() {
    const auto blend = [&](const View& running, const View& now, double scale) {
      for (int64_t i = 0; i < batches * channels; ++i) {
        const int64_t c = i % channels;
        const auto old = static_cast<double>(running.as<T>()[c]);
        const double fresh = static_cast<double>(now.as<T>()[i]) * scale;
        running.as<T>()[c] =
            static_cast<T>(static_cast<Compute<T>>((1 - momentum) * old + momentum * fresh));
      }
    };
    blend(call.in[0], call.in[2], 1);
    blend(call.in[1], call.in[3], unbiased);
  });
}

constexpr OpDef running_op{.name = "update_running_stats",
                           .infer = running_infer,
                           .cpu = running_cpu,
                           .cuda = update_running_stats_cuda,
                           .mutates = bits(0, 1)};

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  const std::vector<Tensor> out = apply(
      batch_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)}, BatchNormAttrs{eps});
  return {out[0], out[1].detach(), out[2].detach()};
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const Tensor& running_mean, const Tensor& running_variance,
                            double eps) {
  for (const Tensor& given : {x, gamma, beta, running_mean, running_variance})
    check_defined("batch_norm_inference", given);
  const std::array metas{x.meta(), gamma.meta(), beta.meta(), running_mean.meta(),
                         running_variance.meta()};
  check_channels("batch_norm_inference", metas);
  check_eps("batch_norm_inference", eps);
  const Tensor scale = gamma / sqrt(running_variance + eps);
  const Tensor wide = cast(x, gamma.dtype());
  return cast((wide - running_mean) * scale + beta, x.dtype());
}

void update_running_stats(const Tensor& running_mean, const Tensor& running_variance,
                          const Tensor& mean, const Tensor& variance, double momentum, int64_t n,
                          const Tensor& batches) {
  std::vector<Tensor> inputs{running_mean, running_variance, contiguous(mean),
                             contiguous(variance)};
  if (batches.defined()) inputs.push_back(batches);
  apply(running_op, inputs, RunningAttrs{momentum, n});
}

extern const std::vector<const OpDef*> batch_norm_ops{&batch_norm_op, &batch_norm_grad_op,
                                                      &running_op};

}  // namespace plimsoll
