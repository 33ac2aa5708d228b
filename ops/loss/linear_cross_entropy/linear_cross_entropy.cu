// As on the CPU, the logits of one chunk of rows at a time, made and used up in the workspace.
#include "ops/loss/cross_entropy/rows.cuh"
#include "ops/loss/linear_cross_entropy/on_cuda.h"

namespace plimsoll {
namespace {

using namespace cuda;
using namespace linear_cross_entropy_detail;

// sums[c] (+)= sum_r d[r, c]
template <class C>
__global__ void add_columns_kernel(Elements<C> d, int64_t rows, int64_t n, int64_t pitch,
                                   bool accumulate, double* sums) {
  for (int64_t c = first_index(); c < n; c += total_threads()) {
    double sum = accumulate ? sums[c] : 0;
    for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(d.get(r * pitch + c));
    sums[c] = sum;
  }
}

template <class C, class From>
__global__ void narrow_kernel(const From* from, int64_t n, Elements<C> to) {
  for (int64_t i = first_index(); i < n; i += total_threads()) to.set(i, static_cast<C>(from[i]));
}

template <class C>
__global__ void widen_kernel(Elements<C> from, int64_t n, C* to) {
  for (int64_t i = first_index(); i < n; i += total_threads()) to[i] = from.get(i);
}

// The operands of one call, cut into chunks.
template <class C>
struct Chunks {
  const Call& call;
  const FusedAttrs& attrs;
  CudaScratch s;
  View logits, d, bias;  // d: the gradient of the logits
  double* doubles;
  std::span<std::byte> product_space;

  Chunks(const Call& c, bool gradients)
      : call(c),
        attrs(c.attrs.as<FusedAttrs>()),
        s(c.in[kX].meta, c.in[kW].shape(), c.in[kLabels].shape(), gradients),
        logits{c.workspace.data() + s.logits, {{s.chunk, s.pitch}, dtype_of<C>}, {}},
        d{c.workspace.data() + s.d, {{s.chunk, s.pitch}, c.in[kX].dtype()}, {}},
        doubles(reinterpret_cast<double*>(c.workspace.data())),
        product_space(c.workspace.subspan(static_cast<size_t>(s.product))) {
    if (!attrs.has_bias) return;
    bias = c.in[kBias];
    if (bias.dtype() == dtype_of<C>) return;
    bias = {c.workspace.data() + s.bias, {{s.classes}, dtype_of<C>}, {}};  // as cuBLAS wants it
    launch(widen_kernel<C>, blocks_for(s.classes), kThreads, elements<C>(c.in[kBias]), s.classes,
           bias.as<C>());
  }

  ClassRows<C> labels(ThrowFault bad) const {
    const View* weight = attrs.has_weight ? &call.in[kBias + attrs.has_bias] : nullptr;
    return {call.in[kLabels], weight, s.classes, attrs.loss.ignore_index, bad};
  }
  Smoothing<C> smoothing() const { return {attrs.loss.label_smoothing, s.classes}; }

  // A matrix of the workspace, w, or its transpose, as an operand.
  static Matrices rows(const View& x) { return {x.data, x.dtype(), x.shape()[1], 1}; }
  static Matrices columns(const View& x) { return {x.data, x.dtype(), 1, x.shape()[1]}; }
  // n rows from `first` on of a tensor like x.
  Matrices rows_of(const View& x, int64_t first) const {
    return {x.as<std::byte>() + first * s.inputs * size_of(x.dtype()), x.dtype(), s.inputs, 1};
  }

  // f(first, n) for every chunk of n rows, in order, with its logits computed; once without rows.
  template <class F>
  void for_each(const F& f) const {
    for (int64_t first = 0; first == 0 || first < s.rows; first += s.chunk) {
      const int64_t n = std::min(s.chunk, s.rows - first);
      product({.m = n,
               .n = s.classes,
               .k = s.inputs,
               .a = rows_of(call.in[kX], first),
               .b = columns(call.in[kW]),
               .c = rows(logits),
               .bias = attrs.has_bias ? &bias : nullptr},
              product_space);
      f(first, n);
      if (s.chunk == 0) return;
    }
  }
};

void bad_label(int64_t position, int64_t label, int64_t limit) {
  cuda::throw_bad_label("linear_cross_entropy", position, label, limit);
}
void bad_label_grad(int64_t position, int64_t label, int64_t limit) {
  cuda::throw_bad_label("linear_cross_entropy_grad", position, label, limit);
}

template <class C>
void forward(const Call& call) {
  const Chunks<C> chunks(call, false);
  const Reduction reduction = chunks.attrs.loss.reduction;
  const ClassRows<C> rows = chunks.labels(bad_label);
  C* const y = call.out[0].as<C>();
  chunks.for_each([&](int64_t first, int64_t n) {
    if (n > 0)
      launch(cross_entropy_kernel<C>, n, row_threads(packs_in(chunks.s.classes)),
             elements<C>(chunks.logits), chunks.s.pitch, rows, chunks.smoothing(), first,
             chunks.doubles, reduction == Reduction::none ? y : nullptr,
             reinterpret_cast<LogSum<C>*>(call.out[1].as<C>()));
  });
  if (reduction != Reduction::none)
    launch(reduce_losses_kernel<C>, 1, kReduceThreads, rows, chunks.doubles,
           reduction == Reduction::mean, y);
}

template <class C>
void backward(const Call& call) {
  const Chunks<C> chunks(call, true);
  const CudaScratch& s = chunks.s;
  const Reduction reduction = chunks.attrs.loss.reduction;
  const ClassRows<C> rows = chunks.labels(bad_label_grad);
  const View* out = call.out.data();
  const auto next = [&](int i) { return has(chunks.attrs.wanted, i) ? out++ : nullptr; };
  const View *dx = next(kX), *dw = next(kW), *db = next(kBias);
  double *const divisor = chunks.doubles, *const sums = chunks.doubles + 1;
  // dw is added up in C: where it is, or in the workspace.
  const bool narrow = dw && dw->dtype() != dtype_of<C>;
  C* const dw_wide =
      narrow ? reinterpret_cast<C*>(call.workspace.data() + s.dw) : (dw ? dw->as<C>() : nullptr);
  const C* const dy = call.in[call.in.size() - 2].template as<C>();
  const auto* log_sums = reinterpret_cast<const LogSum<C>*>(call.in.back().template as<C>());

  launch(divisor_kernel<C>, 1, kReduceThreads, rows, reduction == Reduction::mean, divisor);
  chunks.for_each([&](int64_t first, int64_t n) {
    if (n > 0)
      launch(cross_entropy_grad_kernel<C>, n, row_threads(packs_in(s.classes)), dy,
             reduction == Reduction::none, elements<C>(chunks.logits), rows, chunks.smoothing(),
             log_sums, divisor, elements<C>(chunks.d), s.pitch, first);
    if (dx)
      product({.m = n,
               .n = s.inputs,
               .k = s.classes,
               .a = chunks.rows(chunks.d),
               .b = chunks.rows(call.in[kW]),
               .c = chunks.rows_of(*dx, first)},
              chunks.product_space);
    if (dw)
      product({.m = s.classes,
               .n = s.inputs,
               .k = n,
               .a = chunks.columns(chunks.d),
               .b = chunks.rows_of(call.in[kX], first),
               .c = {dw_wide, dtype_of<C>, s.inputs, 1},
               .accumulate = first > 0},
              chunks.product_space);
    if (db)
      launch(add_columns_kernel<C>, blocks_for(s.classes), kThreads, elements<C>(chunks.d), n,
             s.classes, s.pitch, first > 0, sums);
  });
  if (narrow)
    launch(narrow_kernel<C, C>, blocks_for(count(dw->shape())), kThreads, dw_wide,
           count(dw->shape()), elements<C>(*dw));
  if (db)
    launch(narrow_kernel<C, double>, blocks_for(s.classes), kThreads, sums, s.classes,
           elements<C>(*db));
}

}  // namespace

void linear_cross_entropy_cuda(const Call& call) {
  visit_floating_elements(call.in[kX].dtype(), [&]<class C>() { forward<C>(call); });
}

void linear_cross_entropy_grad_cuda(const Call& call) {
  visit_floating_elements(call.in[kX].dtype(), [&]<class C>() { backward<C>(call); });
}

}  // namespace plimsoll
