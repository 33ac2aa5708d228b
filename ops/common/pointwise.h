// Pointwise ops are one formula each (ops/common/formula.h); the drivers here make the CPU's loops,
// the gradient and the OpDefs.
//
//   Tensor relu(const Tensor& x) { return unary<Relu>(x); }
//
// A piece with an argument beyond a formula's reach is computed in double as a whole.
// Cast: with `static constexpr CastRule cast`, what autocast makes of the input; else it is kept.
#pragma once

#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/common/formula.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

// One input: y = f(x), dx = dy * df(x or y), or dx = grad(dy, x or y).
template <class F>
struct Unary {
  using Constants = ConstantsOf<F>;
  static constexpr bool kLight = requires { F::light; };

  static Metas infer(std::span<const Meta> in, const Attrs&) {
    check_floating(F::name, in[0]);
    return {in[0]};
  }

  // Runs loop.template operator()<C>() with the type to compute x[begin] ... x[end - 1] in.
  template <class T, class Loop>
  static void with_compute_type(const T* x, int64_t begin, int64_t end, Loop&& loop) {
    if constexpr (requires { F::reach; } && !std::is_same_v<T, double>) {
      int beyond = 0;
#pragma omp simd reduction(| : beyond)
      for (int64_t i = begin; i < end; ++i)
        beyond |= !(std::abs(static_cast<float>(x[i])) <= F::reach);
      if (beyond) return loop.template operator()<double>();
    }
    loop.template operator()<Compute<T>>();
  }

  static void cpu(const Call& call) {
    visit_floating(F::name, call.out[0].dtype(), [&]<class T>() {
      const T* x = call.in[0].as<T>();
      T* y = call.out[0].as<T>();
      const Constants own = constants_of<F>(call.attrs);
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
        const Constants c = own;  // a copy that no store can change: read once per piece
        with_compute_type(x, begin, end, [&]<class C>() {
          const auto run = [=](int64_t first, int64_t last) {
#pragma omp simd
            for (int64_t i = first; i < last; ++i)
              y[i] = narrow<T>(value<F>(static_cast<C>(x[i]), c));
          };
          kLight ? run(begin, end) : in_runs(begin, end, run, x);
        });
      });
    });
  }

  static void grad_cpu(const Call& call) {
    visit_floating(F::name, call.out[0].dtype(), [&]<class T>() {
      const T* dy = call.in[0].as<T>();
      const T* saved = call.in[1].as<T>();
      T* dx = call.out[0].as<T>();
      const Constants own = constants_of<F>(call.attrs);
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
        const Constants c = own;
        with_compute_type(saved, begin, end, [&]<class C>() {
          const auto run = [=](int64_t first, int64_t last) {
#pragma omp simd
            for (int64_t i = first; i < last; ++i) {
              // Both are loaded before anything is decided: a conditional load is not vectorised.
              const C g = static_cast<C>(dy[i]);
              const C s = static_cast<C>(saved[i]);
              dx[i] = narrow<T>(gradient<F>(g, s, c));
            }
          };
          kLight ? run(begin, end) : in_runs(begin, end, run, dy, saved);
        });
      });
    });
  }

  static std::vector<Tensor> vjp(const Backward& b) {
    const Tensor saved = F::reads == Reads::input ? b.input(0) : b.output(0);
    if constexpr (has_constants<F>)
      return {apply1(grad, {contiguous(b.grad()), saved}, b.attrs<Constants>())};
    else
      return {apply1(grad, {contiguous(b.grad()), saved})};
  }

  static constexpr OpDef op{.name = F::name,
                            .infer = infer,
                            .cpu = cpu,
                            .cuda = unary_cuda<F>,
                            .vjp = {.rule = vjp,
                                    .inputs = F::reads == Reads::input ? bits(0) : 0,
                                    .outputs = F::reads == Reads::input ? 0 : bits(0)},
                            .inplace = 0,
                            .cast = [] {
                              if constexpr (requires { F::cast; })
                                return F::cast;
                              else
                                return CastRule::keep;
                            }()};
  static constexpr OpDef grad{.name = F::grad_name,
                              .infer = same_as_input,
                              .cpu = grad_cpu,
                              .cuda = unary_grad_cuda<F>,
                              .inplace = 0};
};

// The public function of such an op: y = unary<Elu>(x, EluAttrs{.alpha = 1}).
template <class F>
Tensor unary(const Tensor& x, Attrs constants = {}) {
  return apply1(Unary<F>::op, {contiguous(x)}, std::move(constants));
}

// Two inputs with NumPy broadcasting: y = f(a, b).
template <class F>
struct Binary {
  template <class T>
  static constexpr bool kTakes = !std::is_integral_v<T> || types_of<F> == Types::any ||
                                 (types_of<F> == Types::numbers && !std::is_same_v<T, bool>);

  static Metas infer(std::span<const Meta> in, const Attrs&) {
    check_same_type(F::name, in);
    if (types_of<F> == Types::floating) check_floating(F::name, in[0].dtype);
    if (types_of<F> == Types::numbers)
      check<DTypeError>(in[0].dtype != DType::boolean, F::name,
                        ": numbers are needed: got bool. Cast it first.");
    return {{broadcast(F::name, in[0].shape, in[1].shape), in[0].dtype, in[0].device}};
  }

  static void cpu(const Call& call) {
    visit_any(call.out[0].dtype(), [&]<class T>() {
      if constexpr (kTakes<T>)  // infer refuses the others
        map_pairs<T, T>(call, [](Computed<T> u, Computed<T> v) { return F::f(u, v); });
    });
  }
};

// Such an op. Gradients are each op's own.
template <class F>
constexpr OpDef binary_op(Vjp vjp = {}, CastRule cast = CastRule::widest) {
  return {.name = F::name,
          .infer = Binary<F>::infer,
          .cpu = Binary<F>::cpu,
          .cuda = binary_cuda<F>,
          .vjp = vjp,
          .inplace = 0,
          .strided = everything,
          .cast = cast};
}

}  // namespace plimsoll
