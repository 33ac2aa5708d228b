#include "ops/norm/batch_norm/batch_norm.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/pointwise.h"
#include "ops/common/reduce_axes.h"
#include "ops/norm/batch_norm/normalise.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/relu/formulas.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(batch_norm_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_grad_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_relu_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_relu_grad_cuda);

batch_norm_detail::Rows batch_norm_detail::rows_of(const Shape& shape) {
  Rows r{1, shape.back()};
  for (int axis = 0; axis < shape.rank() - 1; ++axis) r.rows *= shape[axis];
  return r;
}

void batch_norm_detail::check_channels(const char* name, std::span<const Meta> in) {
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

namespace {

using namespace batch_norm_detail;
using namespace norm_detail;

// Rows of a chunk, which leaves partial results: at most 64 chunks, however many rows.
int64_t chunk_rows(const Rows& r) { return std::max(grain_for(r.channels), pieces(r.rows, 64)); }

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

template <class T, bool relu>
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
    column_statistics(x + begin * channels, end - begin, channels, part.first, part.second);
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
  normalise_rows<T, relu>(x, y, r, {mean, tail, inverse_std, gamma, beta});
}

// S beside V, a vector of numbers that sums are taken in, or one: what is summed.
template <class S, class V>
using Beside = typename std::conditional_t<std::is_arithmetic_v<V>, std::type_identity<S>,
                                           AlongsideOf<S, V>>::type;

template <class V, class F>
V widened(F from) {
  if constexpr (std::is_same_v<V, F>)
    return from;
  else if constexpr (std::is_arithmetic_v<V>)
    return static_cast<V>(from);
  else
    return widen_lanes<V>(from);
}

// With n = (x - mean) inverse_std: dbeta = sum dy, dgamma = sum dy n,
// dx = gamma inverse_std (dy - dbeta / R - n dgamma / R).
// dx may be dy. With relu dy is 0 where gamma n + beta, as it was stored, was not above 0.
template <class T, bool relu>
void backward_typed(const Call& call) {
  using S = Compute<T>;
  const std::span<std::byte> workspace = call.workspace;
  const Rows r = rows_of(call.in[1].shape());
  const int64_t channels = r.channels;
  const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
  const S *gamma = call.in[2].as<S>(), *mean = call.in[3].as<S>(), *inv = call.in[4].as<S>();
  const S *tail = call.in[5].as<S>(), *beta = relu ? call.in[6].as<S>() : gamma;
  T* dx = call.out[0].as<T>();
  S *dgamma = call.out[1].as<S>(), *dbeta = call.out[2].as<S>();
  parallel_for(r.rows, chunk_rows(r), [&](int64_t begin, int64_t end) {
    const Partial part(workspace, r, begin);
    // By as many rows at a time as stay in a cache for the next columns.
    for (int64_t row = begin, last; row < end; row = last) {
      last = std::min(end, row + grain_for(channels));
      by_columns<RunSum<T>>(channels, [&]<class V, int W>(int64_t c) {
        using F = Beside<S, V>;
        const Normal<T, F, W> normal(mean, tail, inv, c);
        const Affine<T, F, W> affine(gamma, beta, c);
        for (int64_t first = row; first < last; first += kRunRows<T>) {
          V sum[W] = {}, weighted[W] = {};
          F v[W], d[W];
          for (int64_t i = first; i < std::min(last, first + kRunRows<T>); ++i) {
            const int64_t at = i * channels + c;
            prefetch(dy + at, kRowsAhead * channels, W * kLanesOf<V>);
            prefetch(x + at, kRowsAhead * channels, W * kLanesOf<V>);
            load_columns<T>(x + at, v);
            load_columns<T>(dy + at, d);
#pragma GCC unroll 4
            for (int w = 0; w < W; ++w) {
              const F n = normal.of(v[w], w);
              if constexpr (relu) d[w] = zero_unless(affine.of(n, w) > kRoundsToZero<T, S>, d[w]);
              const V g = widened<V>(d[w]);
              sum[w] += g;
              weighted[w] += g * widened<V>(n);
            }
          }
          if (first == begin) {
            store_columns<T>(part.first + c, sum);
            store_columns<T>(part.second + c, weighted);
          } else {
            add_to_columns<T>(part.first + c, sum);
            add_to_columns<T>(part.second + c, weighted);
          }
        }
      });
    }
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
  parallel_for(r.rows, grain_for(channels), [=](int64_t begin, int64_t end) {
    by_columns<S>(channels, [=]<class V, int W>(int64_t c) {
      const Normal<T, V, W> normal(mean, tail, inv, c);
      const Affine<T, V, W> affine(gamma, beta, c);
      V scale[W], sum[W], weighted[W], v[W], g[W];
      for (int w = 0; w < W; ++w) scale[w] = affine.scale[w] * normal.inverse[w];
      load_columns<T>(dbeta + c, sum);
      load_columns<T>(dgamma + c, weighted);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * channels + c;
        prefetch(dy + at, kRowsAhead * channels, W * kLanesOf<V>);
        prefetch(x + at, kRowsAhead * channels, W * kLanesOf<V>);
        prefetch_to_write(dx + at, kRowsAhead * channels, W * kLanesOf<V>);
        load_columns<T>(x + at, v);
        load_columns<T>(dy + at, g);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const V n = normal.of(v[w], w);
          if constexpr (relu) g[w] = zero_unless(affine.of(n, w) > kRoundsToZero<T, S>, g[w]);
          g[w] = scale[w] * (g[w] - share * (sum[w] + n * weighted[w]));
        }
        store_columns<T>(dx + at, g);
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

template <bool relu>
void batch_norm_cpu(const Call& call) {
  const double eps = call.attrs.as<BatchNormAttrs>().eps;
  visit_floating("batch_norm", call.in[0].dtype(),
                 [&]<class T>() { forward_typed<T, relu>(call, eps); });
}

// Inputs: dy, x, gamma, mean, inverse standard deviation, tail; with relu also beta. Outputs: dx,
// dgamma, dbeta.
Metas batch_norm_grad_infer(std::span<const Meta> in, const Attrs&) {
  return {in[0], in[2], in[2]};
}

template <bool relu>
void batch_norm_grad_cpu(const Call& call) {
  visit_floating("batch_norm_grad", call.in[1].dtype(),
                 [&]<class T>() { backward_typed<T, relu>(call); });
}

constexpr OpDef batch_norm_grad_op{.name = "batch_norm_grad",
                                   .infer = batch_norm_grad_infer,
                                   .cpu = batch_norm_grad_cpu<false>,
                                   .cuda = batch_norm_grad_cuda,
                                   .inplace = 0,
                                   .workspace = workspace,
                                   .with_relu = &with_relu};

std::vector<Tensor> batch_norm_vjp(const Backward& b) {
  return apply(batch_norm_grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1),
                                    b.output(3), b.output(4)});
}

// Only y is ever differentiated: the public function takes the statistics off the tape.
constexpr OpDef batch_norm_op{
    .name = "batch_norm",
    .infer = batch_norm_infer,
    .cpu = batch_norm_cpu<false>,
    .cuda = batch_norm_cuda,
    .vjp = {.rule = batch_norm_vjp, .inputs = bits(0, 1), .outputs = bits(1, 3, 4)},
    .workspace = workspace,
    .with_relu = &with_relu};

// Both with relu.
constexpr OpDef batch_norm_relu_op{.name = "batch_norm_relu",
                                   .infer = batch_norm_infer,
                                   .cpu = batch_norm_cpu<true>,
                                   .cuda = batch_norm_relu_cuda,
                                   .workspace = workspace};
constexpr OpDef batch_norm_relu_grad_op{.name = "batch_norm_relu_grad",
                                        .infer = batch_norm_grad_infer,
                                        .cpu = batch_norm_grad_cpu<true>,
                                        .cuda = batch_norm_relu_grad_cuda,
                                        .inplace = 0,
                                        .workspace = workspace};

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  const std::vector<Tensor> out = apply(
      batch_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)}, BatchNormAttrs{eps});
  return {out[0], out[1].detach(), out[2].detach()};
}

const WithRelu batch_norm_detail::with_relu{.op = &batch_norm_op,
                                            .grad = &batch_norm_grad_op,
                                            .relu = &Unary<formulas::Relu>::op,
                                            .relu_grad = &Unary<formulas::Relu>::grad,
                                            .both = &batch_norm_relu_op,
                                            .both_grad = &batch_norm_relu_grad_op,
                                            .extra = 2};

extern const std::vector<const OpDef*> batch_norm_ops{
    &batch_norm_op, &batch_norm_grad_op, &batch_norm_relu_op, &batch_norm_relu_grad_op,
    &inference_op,  &inference_relu_op,  &running_stats_op};

}  // namespace plimsoll
