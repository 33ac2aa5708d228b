#include "ops/reduction/softmax/softmax.h"

#include <limits>

#include "core/base/math.h"
#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "core/cpu/reduce.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(softmax_cuda);
PLIMSOLL_CUDA_KERNEL(softmax_grad_cuda);
PLIMSOLL_CUDA_KERNEL(log_softmax_cuda);
PLIMSOLL_CUDA_KERNEL(log_softmax_grad_cuda);

namespace {

enum class Form { plain, log };

constexpr const char* name_of_form(Form form) {
  return form == Form::plain ? "softmax" : "log_softmax";
}

template <class T>
Compute<T> highest_of(const T* x, int64_t n) {
  return max_of<Compute<T>>(n, [&]<class V>(int64_t i) { return load_as<V>(x + i); });
}

// f32 and f64 keep exp(x - m) in y between the passes; 16-bit rows, which would be rounded twice,
// compute it again.
template <class T>
void softmax_row(const T* x, int64_t n, T* y) {
  using C = Compute<T>;
  constexpr bool keep = std::is_same_v<T, C>;
  prefetch_next_row(x, n);
  const C m = highest_of(x, n);
  C total = 0;
  if constexpr (keep) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = math::exp_of_negative(x[i] - m);
    total = sum_of<C>(n, [&]<class V>(int64_t i) { return load<V>(y + i); });
  } else {
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; ++i) total += math::exp_of_negative(static_cast<C>(x[i]) - m);
  }
  const C inverse = 1 / total;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    y[i] = narrow<T>(
        (keep ? static_cast<C>(y[i]) : math::exp_of_negative(static_cast<C>(x[i]) - m)) * inverse);
}

template <class T>
void log_softmax_row(const T* x, int64_t n, T* y) {
  using C = Compute<T>;
  prefetch_next_row(x, n);
  const C m = highest_of(x, n);
  C total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += math::exp_of_negative(static_cast<C>(x[i]) - m);
  const C log_total = std::log(total);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = narrow<T>(static_cast<C>(x[i]) - m - log_total);
}

template <Form form, class T>
void gradient_row(const T* dy, const T* y, int64_t n, T* dx) {
  using C = Compute<T>;
  const C total = sum_of<C>(n, [&]<class V>(int64_t i) {
    if constexpr (form == Form::plain)
      return load_as<V>(dy + i) * load_as<V>(y + i);
    else
      return load_as<V>(dy + i);
  });
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C g = static_cast<C>(dy[i]), v = static_cast<C>(y[i]);
    dx[i] = narrow<T>(form == Form::plain ? v * (g - total) : g - math::exp(v) * total);
  }
}

// f(row offset) for every row along the last axis of `out`, which is not empty.
template <class F>
void for_each_row(const View& out, F&& f) {
  const int64_t n = out.shape().back();
  parallel_for(count(out.shape()) / n, grain_for(4 * n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row * n, n);
  });
}

template <Form form>
struct Softmax {
  static Metas infer(std::span<const Meta> in, const Attrs&) {
    check_floating(name_of_form(form), in[0]);
    return {in[0]};
  }

  static void cpu(const Call& call) {
    visit_floating(name_of_form(form), call.out[0].dtype(), [&]<class T>() {
      const T* x = call.in[0].as<T>();
      T* y = call.out[0].as<T>();
      for_each_row(call.out[0], [&](int64_t at, int64_t n) {
        form == Form::plain ? softmax_row(x + at, n, y + at) : log_softmax_row(x + at, n, y + at);
      });
    });
  }

  static void grad_cpu(const Call& call) {
    visit_floating(name_of_form(form), call.out[0].dtype(), [&]<class T>() {
      const T *dy = call.in[0].as<T>(), *y = call.in[1].as<T>();
      T* dx = call.out[0].as<T>();
      for_each_row(call.out[0],
                   [&](int64_t at, int64_t n) { gradient_row<form>(dy + at, y + at, n, dx + at); });
    });
  }

  static std::vector<Tensor> vjp(const Backward& b) {
    return {apply1(grad, {contiguous(b.grad()), b.output(0)})};
  }

  static Tensor along(const Tensor& x, int64_t axis) {
    check_defined(name_of_form(form), x);
    const int moved = normal_axis(name_of_form(form), axis, x.rank());
    if (moved == x.rank() - 1) return apply1(op, {contiguous(x)});
    return transpose(apply1(op, {contiguous(transpose(x, moved, -1))}), moved, -1);
  }

  static constexpr OpDef op{.name = name_of_form(form),
                            .infer = infer,
                            .cpu = cpu,
                            .cuda = form == Form::plain ? softmax_cuda : log_softmax_cuda,
                            .vjp = {.rule = vjp, .outputs = bits(0)},
                            .inplace = 0,
                            .cast = CastRule::full};
  static constexpr OpDef grad{
      .name = form == Form::plain ? "softmax_grad" : "log_softmax_grad",
      .infer = same_as_input,
      .cpu = grad_cpu,
      .cuda = form == Form::plain ? softmax_grad_cuda : log_softmax_grad_cuda,
      .inplace = 0};
};

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) { return Softmax<Form::plain>::along(x, axis); }
Tensor log_softmax(const Tensor& x, int64_t axis) { return Softmax<Form::log>::along(x, axis); }

extern const std::vector<const OpDef*> softmax_ops{
    &Softmax<Form::plain>::op, &Softmax<Form::plain>::grad, &Softmax<Form::log>::op,
    &Softmax<Form::log>::grad};

}  // namespace plimsoll
