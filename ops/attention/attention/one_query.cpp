// Attention of one query, as when a text is written token by token. A block has lanes for 32
// queries, of which 31 would be of no account; here keys and values are read once and little else
// is done: in f32 12 heads of 64 over 64 to 1,000 keys take 0.14 to 0.45 of its time, in bf16 by
// tiles as long. Every sum is taken in the order of forward.cpp: the bits are the same.
#include <cmath>

#include "core/base/math.h"
#include "core/cpu/gemm/gemv.h"
#include "ops/attention/attention/blocks.h"

namespace plimsoll::attention_detail {
namespace {

// Of one head: the query, the scores of a block of keys, and what was summed so far.
template <class T>
struct Area {
  using C = Compute<T>;
  C *q, *scores, *sum;  // [D], [keys], [E]

  Area(BumpAllocator& scratch, const Sizes& sizes)
      : q(scratch.take<C>(sizes.features)),
        scores(scratch.take<C>(std::min(kKeys, sizes.keys))),
        sum(scratch.take<C>(sizes.values)) {}
};

// a b + sum, rounded once where the target can, as products of matrices are. Of vectors the
// compiler makes that itself; of a chain of scalars it may take products and sums apart.
template <class V, class C>
V multiply_add(V a, C b, V sum) {
#ifdef __FP_FAST_FMA
  if constexpr (std::is_same_v<V, C>) return std::fma(a, b, sum);
#endif
  return sum + a * b;
}

template <class T>
class OneQuery {
  using C = Compute<T>;
  static constexpr C kLowest = -std::numeric_limits<C>::infinity();

 public:
  OneQuery(const Call& call, const Sizes& sizes, const Area<T>& area, int64_t b, int64_t h)
      : call_(call), sizes_(sizes), area_(area), b_(b), h_(h), shared_(h / sizes.group()) {}

  void run() {
    const T* q = row_start<T>(call_.in[0], b_, h_, 0);
    for (int64_t d = 0; d < sizes_.features && !by_tiles<T>(); ++d)
      area_.q[d] = static_cast<C>(q[d]);
    std::fill_n(area_.sum, sizes_.values, C(0));
    const int64_t seen = sizes_.seen(0), first = sizes_.first_seen(0) / kKeys * kKeys;
    for (int64_t j = first; j < seen; j += kKeys) add_keys(j, std::min(kKeys, seen - j));
    write();
  }

 private:
  // As Span::add_keys() and weigh() in forward.cpp.
  void add_keys(int64_t j, int64_t m) {
    C* const s = area_.scores;
    multiply_keys(row_start<T>(call_.in[1], b_, shared_, j), call_.in[1].strides[1], m, s);
    for (int64_t c = 0; c < sizes_.first_seen(0) - j; ++c) s[c] = kLowest;
    const C factor = static_cast<C>(sizes_.attrs.scale), old = highest_;
    C highest = kLowest;
    for (int64_t c = 0; c < m; ++c) highest = s[c] > highest ? s[c] : highest;
    highest_ = highest > old ? highest : old;
    const C base = highest_ > kLowest ? highest_ : C(0);  // what can be subtracted
    const C shrink = math::exp_of_negative((old - base) * factor);
#pragma omp simd
    for (int64_t c = 0; c < m; ++c) s[c] = math::exp_of_negative((s[c] - base) * factor);
    C chains[4] = {};
    for (int64_t c = 0; c < m; ++c) chains[c % 4] += s[c];
    total_ = total_ * shrink + ((chains[0] + chains[1]) + (chains[2] + chains[3]));
    if (j > 0) scale(shrink);
    add_values(row_start<T>(call_.in[2], b_, shared_, j), call_.in[2].strides[1], m);
  }

  void multiply_keys(const T* k, int64_t stride, int64_t m, C* scores) {
    if constexpr (std::is_same_v<T, BFloat16>)
      if (by_tiles<T>())
        return gemm_tiles(m, 1, sizes_.features, MatrixRef<T>{k, stride, 1},
                          MatrixRef<T>{row_start<T>(call_.in[0], b_, h_, 0), 1, sizes_.features},
                          nullptr, scores, 1);
    const C* const none = nullptr;
    gemv(m, sizes_.features, area_.q, k, stride, none, scores);
  }

  void scale(C by) {
#pragma omp simd
    for (int64_t e = 0; e < sizes_.values; ++e) area_.sum[e] *= by;
  }

  void add_values(const T* v, int64_t stride, int64_t m) {
    if constexpr (std::is_same_v<T, BFloat16>)
      if (by_tiles<T>())
        return gemm_tiles(1, sizes_.values, m, MatrixRef<C>{area_.scores, m, 1},
                          MatrixRef<T>{v, stride, 1}, nullptr, area_.sum, sizes_.values,
                          Store::accumulate);
    by_columns<C>(sizes_.values, [&]<class V, int W>(int64_t e) {
      V block[W] = {};
      for (int64_t c = 0; c < m; ++c)
        for (int w = 0; w < W; ++w)
          block[w] = multiply_add(load_column<V>(v + c * stride + e, w), area_.scores[c], block[w]);
      for (int w = 0; w < W; ++w)
        store_column(area_.sum + e, w, load_column<V>(area_.sum + e, w) + block[w]);
    });
  }

  void write() {
    const bool any = total_ != 0;  // the highest score alone adds 1
    const C factor = static_cast<C>(sizes_.attrs.scale);
    const Softmax<C> softmax{any ? highest_ : C(0), math::log(total_)};
    const int64_t row = b_ * sizes_.heads + h_;
    call_.out[1].as<C>()[row] = softmax.highest * factor + softmax.log_total;
    reinterpret_cast<Softmax<C>*>(call_.out[2].as<C>())[row] = softmax;
    scale(1 / (any ? total_ : C(1)));
    T* out = row_start<T>(call_.out[0], b_, h_, 0);
    for (int64_t e = 0; e < sizes_.values; ++e) out[e] = static_cast<T>(area_.sum[e]);
  }

  const Call& call_;
  const Sizes& sizes_;
  const Area<T>& area_;
  int64_t b_, h_, shared_;
  C highest_ = kLowest, total_ = 0;
};

}  // namespace

bool is_one_query(const Sizes& sizes) {
  return sizes.queries == 1 && !sizes.masked && !sizes.segmented && sizes.attrs.softcap == 0 &&
         sizes.attrs.dropout == 0;
}

int64_t one_query_workspace(const Sizes& sizes, DType dtype) {
  return visit_floating("attention", dtype, [&]<class T>() {
    return slots_bytes(sizes.batch * sizes.heads, area_bytes<Area<T>>(sizes));
  });
}

void forward_one_query(const Call& call, const Sizes& sizes) {
  visit_floating("attention", call.out[0].dtype(), [&]<class T>() {
    for_each_with_slot(
        sizes.batch * sizes.heads, call.workspace, area_bytes<Area<T>>(sizes),
        [&](int64_t head, std::byte* slot) {
          BumpAllocator scratch(slot);
          const Area<T> area(scratch, sizes);
          OneQuery<T>(call, sizes, area, head / sizes.heads, head % sizes.heads).run();
        });
  });
}

}  // namespace plimsoll::attention_detail
