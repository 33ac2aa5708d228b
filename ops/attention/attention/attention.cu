// Attention on a GPU, one warp for each query, or for each key where gradients are gathered: lanes
// take 32 keys (or queries) at a time and turn q . k into weights; then they take features, and add
// up rows of values with the weights of all lanes. Scores are computed again for every kChunk
// features and never stored.
#include "core/base/math.h"
#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "ops/attention/attention/on_cuda.h"
#include "ops/random/dropout/bits.h"

namespace plimsoll {
namespace {

using namespace cuda;
using attention_detail::Extras;
using attention_detail::Sizes;
using attention_detail::Softmax;

constexpr int kWide = 4;                   // features of a lane
constexpr int64_t kChunk = kWide * kWarp;  // of a warp

// x [B, L, H, D], its last axis dense.
template <class C>
struct Heads {
  Elements<C> x;
  int64_t batch, row, head;

  __device__ int64_t start(int64_t b, int64_t i, int64_t h) const {
    return b * batch + i * row + h * head;
  }
};
template <class C>
Heads<C> heads(const View& x) {
  return {elements<C>(x), x.strides[0], x.strides[1], x.strides[2]};
}

template <class C>
__device__ C dot(const Elements<C>& a, int64_t at, const Elements<C>& b, int64_t bt, int64_t n) {
  C sum = 0;
  for (int64_t d = 0; d < n; ++d) sum += a.get(at + d) * b.get(bt + d);
  return sum;
}

// A query i of head h of batch b.
struct Query {
  int64_t b, h, i;
};

// What scores are made from.
template <class C>
struct Scores {
  Sizes s;
  Heads<C> q, k, v;
  Elements<C> mask;  // no data: none
  bool hides;        // it is boolean
  int64_t mask_step[4];
  const int64_t *key, *past, *segments;

  Scores(const Call& call, const Sizes& sizes, const Extras& extras)
      : s(sizes),
        q(heads<C>(call.in[0])),
        k(heads<C>(call.in[1])),
        v(heads<C>(call.in[2])),
        hides(extras.mask && extras.mask->dtype() == DType::boolean),
        mask_step{},
        key(extras.key ? extras.key->as<int64_t>() : nullptr),
        past(extras.past ? extras.past->as<int64_t>() : nullptr),
        segments(extras.segments ? extras.segments->as<int64_t>() : nullptr) {
    if (!extras.mask) return;
    mask = elements<C>(*extras.mask);
    for (int axis = 0; axis < 4; ++axis)
      if (extras.mask->shape()[axis] != 1) mask_step[axis] = extras.mask->strides[axis];
  }

  // Each kernel does so first: only the device knows what a tensor holds.
  __device__ void read_past() {
    if (past) s.attrs.past = s.clamped_past(*past);
  }
  __device__ int64_t shared(int64_t h) const { return h / s.group(); }  // its head of keys
  __device__ Query query(int64_t row) const {
    return {row / s.queries / s.heads, row / s.queries % s.heads, row % s.queries};
  }
  __device__ int64_t row(const Query& x) const { return (x.b * s.heads + x.h) * s.queries + x.i; }

  // As the kernels of the CPU: without options the scale is left to the exponential.
  __device__ bool plain() const { return !mask.data && !(s.attrs.softcap > 0); }
  __device__ C factor() const { return plain() ? static_cast<C>(s.attrs.scale) : C(1); }

  // The finished score; `slope` becomes its derivative by scale q . k.
  __device__ C score(const Query& x, int64_t j, C& slope) const {
    slope = 1;
    if (segments && segments[x.b * s.keys + x.i] != segments[x.b * s.keys + j])
      return -std::numeric_limits<C>::infinity();
    C raw = dot(q.x, q.start(x.b, x.i, x.h), k.x, k.start(x.b, j, shared(x.h)), s.features);
    if (plain()) return raw;
    if (s.attrs.softcap > 0) {
      const C c = static_cast<C>(s.attrs.softcap);
      const C t = math::tanh(raw * (static_cast<C>(s.attrs.scale) / c));
      slope = 1 - t * t;
      raw = c * t;
    } else {
      raw *= static_cast<C>(s.attrs.scale);
    }
    if (!mask.data) return raw;
    const C added =
        mask.get(x.b * mask_step[0] + x.h * mask_step[1] + x.i * mask_step[2] + j * mask_step[3]);
    if (hides) return added != 0 ? raw : -std::numeric_limits<C>::infinity();
    // What is hidden stays hidden, a NaN too.
    return added == -std::numeric_limits<C>::infinity() ? added : raw + added;
  }

  // What the dropout multiplies a probability by.
  __device__ C kept(const DropoutBits& bits, const Query& x, int64_t j) const {
    if (!key) return 1;
    const int64_t block = row(x) * ((s.keys + 3) / 4) + j / 4;
    return bits.keeps(bits.word(block, j % 4)) ? static_cast<C>(1 / (1 - s.attrs.dropout)) : C(0);
  }
  __device__ DropoutBits bits() const { return DropoutBits(s.attrs.dropout, s.attrs.site, key); }
};

// sum[t] += over the lanes l with first + l < end: weight of l * x[row l, feature t of this lane].
// `at` is where row 0 of the lanes starts.
template <class C>
__device__ void add_rows(C (&sum)[kWide], C weight, int64_t n, const Heads<C>& x, int64_t at,
                         int64_t feature, int64_t features) {
  const int lane = threadIdx.x % kWarp;
  for (int l = 0; l < kWarp && l < n; ++l) {
    const C w = __shfl_sync(0xffffffffu, weight, l);
#pragma unroll
    for (int t = 0; t < kWide; ++t) {
      const int64_t e = feature + t * kWarp + lane;
      if (e < features) sum[t] += w * x.x.get(at + l * x.row + e);
    }
  }
}

template <class C>
__device__ void write_row(const C (&sum)[kWide], C by, const Heads<C>& to, int64_t at,
                          int64_t feature, int64_t features) {
  for (int t = 0; t < kWide; ++t) {
    const int64_t e = feature + t * kWarp + threadIdx.x % kWarp;
    if (e < features) to.x.set(at + e, sum[t] * by);
  }
}

// Online softmax (Milakov and Gimelshein, arXiv 1805.02867) over the keys, then the values.
template <class C>
__global__ void attention_kernel(Scores<C> p, Heads<C> out, C* log_sum_exp, Softmax<C>* softmaxes) {
  constexpr C lowest = -std::numeric_limits<C>::infinity();
  p.read_past();
  const int lane = threadIdx.x % kWarp;
  const int64_t rows = p.s.batch * p.s.heads * p.s.queries;
  const DropoutBits bits = p.bits();
  const C factor = p.factor();
  C slope;
  for (int64_t row = first_index() / kWarp; row < rows; row += total_threads() / kWarp) {
    const Query x = p.query(row);
    const int64_t first = p.s.first_seen(x.i), keys = p.s.seen(x.i);
    C highest = lowest, total = 0;
    for (int64_t j = first; j < keys; j += kWarp) {
      const C s = j + lane < keys ? p.score(x, j + lane, slope) : lowest;
      const C old = highest;
      highest = over_warp(s > old ? s : old, Larger());
      const C base = highest > lowest ? highest : C(0);
      total = total * math::exp_of_negative((old - base) * factor) +
              math::exp_of_negative((s - base) * factor);
    }
    total = over_warp(total, Plus());
    const bool any = total != 0;  // the highest score alone adds 1
    const Softmax<C> softmax{any ? highest : C(0), std::log(total)};
    if (lane == 0) {
      log_sum_exp[row] = softmax.highest * factor + softmax.log_total;
      softmaxes[row] = softmax;
    }
    for (int64_t feature = 0; feature < p.s.values; feature += kChunk) {
      C sum[kWide] = {};
      for (int64_t j = first; any && j < keys; j += kWarp) {
        C weight = 0;
        if (j + lane < keys)
          weight = math::exp_of_negative((p.score(x, j + lane, slope) - softmax.highest) * factor) *
                   p.kept(bits, x, j + lane);
        add_rows(sum, weight, keys - j, p.v, p.v.start(x.b, j, p.shared(x.h)), feature, p.s.values);
      }
      write_row(sum, any ? 1 / total : C(0), out, out.start(x.b, x.i, x.h), feature, p.s.values);
    }
  }
}

// The inputs of a gradient, and delta [B, H, T] of gradients.h, made first.
template <class C>
struct Gradients {
  Scores<C> p;
  Heads<C> out, dout;
  const Softmax<C>* softmaxes;
  const C* dlog_sum_exp;
  C* delta;

  Gradients(const Call& call, const Sizes& sizes, const Extras& extras)
      : p(call, sizes, extras),
        out(heads<C>(call.in[3])),
        dout(heads<C>(call.in[5])),
        softmaxes(reinterpret_cast<const Softmax<C>*>(call.in[4].as<C>())),
        dlog_sum_exp(extras.dlog_sum_exp ? extras.dlog_sum_exp->as<C>() : nullptr),
        delta(reinterpret_cast<C*>(call.workspace.data())) {}

  struct Pair {
    C weight, ds, slope;  // of the value; gradient of the finished score; of it by the raw one
  };
  __device__ Pair pair(const DropoutBits& bits, const Query& x, int64_t j) const {
    const Softmax<C> softmax = softmaxes[p.row(x)];
    const bool seen = p.s.first_seen(x.i) <= j && j < p.s.seen(x.i);
    if (softmax.log_total == -std::numeric_limits<C>::infinity() || !seen) return {0, 0, 0};
    Pair result;
    const C s = p.score(x, j, result.slope);
    const C probability =
        math::exp_of_negative((s - softmax.highest) * p.factor() - softmax.log_total);
    const C kept = p.kept(bits, x, j);
    const C dp =
        dot(dout.x, dout.start(x.b, x.i, x.h), p.v.x, p.v.start(x.b, j, p.shared(x.h)), p.s.values);
    result.weight = probability * kept;
    result.ds = probability * (dp * kept - delta[p.row(x)]);
    return result;
  }
};

// The same sum, in the same order, as in pair(): where out is a row of v they cancel.
template <class C>
__global__ void delta_kernel(Gradients<C> g) {
  const Sizes& s = g.p.s;
  const int64_t rows = s.batch * s.heads * s.queries;
  for (int64_t row = first_index(); row < rows; row += total_threads()) {
    const Query x = g.p.query(row);
    const C sum =
        dot(g.dout.x, g.dout.start(x.b, x.i, x.h), g.out.x, g.out.start(x.b, x.i, x.h), s.values);
    g.delta[row] = g.dlog_sum_exp ? sum - g.dlog_sum_exp[row] : sum;
  }
}

template <class C>
__global__ void query_grad_kernel(Gradients<C> g, Heads<C> dq) {
  g.p.read_past();
  const Sizes& s = g.p.s;
  const int lane = threadIdx.x % kWarp;
  const int64_t rows = s.batch * s.heads * s.queries;
  const DropoutBits bits = g.p.bits();
  for (int64_t row = first_index() / kWarp; row < rows; row += total_threads() / kWarp) {
    const Query x = g.p.query(row);
    const int64_t first = s.first_seen(x.i), keys = s.seen(x.i);
    for (int64_t feature = 0; feature < s.features; feature += kChunk) {
      C sum[kWide] = {};
      for (int64_t j = first; j < keys; j += kWarp) {
        C weight = 0;
        if (j + lane < keys) {
          const auto pair = g.pair(bits, x, j + lane);
          weight = pair.ds * pair.slope;
        }
        add_rows(sum, weight, keys - j, g.p.k, g.p.k.start(x.b, j, g.p.shared(x.h)), feature,
                 s.features);
      }
      write_row(sum, static_cast<C>(s.attrs.scale), dq, dq.start(x.b, x.i, x.h), feature,
                s.features);
    }
  }
}

// Of the keys and of the values: each gathers from all queries that see it, of all heads that share
// it, in order.
template <class C>
__global__ void key_grad_kernel(Gradients<C> g, Heads<C> dk, Heads<C> dv) {
  g.p.read_past();
  const Sizes& s = g.p.s;
  const int lane = threadIdx.x % kWarp;
  const int64_t rows = s.batch * s.kv_heads * s.keys;
  const int64_t features = s.features > s.values ? s.features : s.values;
  const DropoutBits bits = g.p.bits();
  for (int64_t row = first_index() / kWarp; row < rows; row += total_threads() / kWarp) {
    const int64_t b = row / s.keys / s.kv_heads, shared = row / s.keys % s.kv_heads;
    const int64_t j = row % s.keys, end = s.end_query(j);
    for (int64_t feature = 0; feature < features; feature += kChunk) {
      C of_key[kWide] = {}, of_value[kWide] = {};
      for (int64_t h = shared * s.group(); h < (shared + 1) * s.group(); ++h)
        for (int64_t i = s.first_query(j); i < end; i += kWarp) {
          C ds = 0, weight = 0;
          if (i + lane < end) {
            const auto pair = g.pair(bits, {b, h, i + lane}, j);
            ds = pair.ds * pair.slope;
            weight = pair.weight;
          }
          const int64_t n = end - i;
          add_rows(of_key, ds, n, g.p.q, g.p.q.start(b, i, h), feature, s.features);
          add_rows(of_value, weight, n, g.dout, g.dout.start(b, i, h), feature, s.values);
        }
      const C scale = static_cast<C>(s.attrs.scale);
      write_row(of_key, scale, dk, dk.start(b, j, shared), feature, s.features);
      write_row(of_value, C(1), dv, dv.start(b, j, shared), feature, s.values);
    }
  }
}

// How many scores one element of the mask was added to, along each axis, and its own sizes.
struct Spread {
  int64_t mask[4], scores[4];
  __device__ int64_t scores_of_each() const {
    int64_t n = 1;
    for (int axis = 0; axis < 4; ++axis)
      if (mask[axis] == 1) n *= scores[axis];
    return n;
  }
};

// A block adds up what reaches one element of the mask, in double.
template <class C>
__global__ void mask_grad_kernel(Gradients<C> g, Spread spread, int64_t elements, Elements<C> dm) {
  g.p.read_past();
  const DropoutBits bits = g.p.bits();
  const int64_t each = spread.scores_of_each();
  for (int64_t e = blockIdx.x; e < elements; e += gridDim.x) {
    double sum = 0;
    for (int64_t c = threadIdx.x; c < each; c += blockDim.x) {
      int64_t at[4], element = e, covered = c;
      for (int axis = 3; axis >= 0; --axis) {
        int64_t& rest = spread.mask[axis] == 1 ? covered : element;
        at[axis] = rest % spread.scores[axis];
        rest /= spread.scores[axis];
      }
      sum += static_cast<double>(g.pair(bits, {at[0], at[1], at[2]}, at[3]).ds);
    }
    sum = over_block(sum, Plus());
    if (threadIdx.x == 0) dm.set(e, static_cast<C>(sum));
  }
}

template <class C>
Gradients<C> start_gradients(const Call& call, const Sizes& s) {
  const Gradients<C> g(call, s, attention_detail::extras_of_gradient(call));
  launch(delta_kernel<C>, blocks_for(s.batch * s.heads * s.queries), kThreads, g);
  return g;
}

}  // namespace

void attention_cuda(const Call& call) {
  const Sizes s = attention_detail::sizes_of(call);
  const Extras extras = attention_detail::extras_of(call);
  if (attention_detail::forward_by_library(call, s, extras)) return;
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const Scores<C> scores(call, s, extras);
    launch(attention_kernel<C>, blocks_for(s.batch * s.heads * s.queries * kWarp), kThreads, scores,
           heads<C>(call.out[0]), call.out[1].as<C>(),
           reinterpret_cast<Softmax<C>*>(call.out[2].as<C>()));
  });
}

void attention_grad_cuda(const Call& call) {
  const Sizes s = attention_detail::sizes_of(call);
  if (attention_detail::backward_by_library(call, s, attention_detail::extras_of_gradient(call)))
    return;
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const auto g = start_gradients<C>(call, s);
    launch(query_grad_kernel<C>, blocks_for(s.batch * s.heads * s.queries * kWarp), kThreads, g,
           heads<C>(call.out[0]));
    launch(key_grad_kernel<C>, blocks_for(s.batch * s.kv_heads * s.keys * kWarp), kThreads, g,
           heads<C>(call.out[1]), heads<C>(call.out[2]));
  });
}

void attention_mask_grad_cuda(const Call& call) {
  const Sizes s = attention_detail::sizes_of(call);
  const Shape& mask = call.out[0].shape();
  const Spread spread{{mask[0], mask[1], mask[2], mask[3]}, {s.batch, s.heads, s.queries, s.keys}};
  const int64_t all = s.batch * s.heads * s.queries * s.keys, elements = count(mask);
  const int threads = all >= elements * kThreads ? kThreads : kWarp;
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const auto g = start_gradients<C>(call, s);
    launch(mask_grad_kernel<C>, blocks_for(elements, 1), threads, g, spread, elements,
           cuda::elements<C>(call.out[0]));
  });
}

}  // namespace plimsoll
