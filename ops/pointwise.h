// Pointwise ops are one struct each; the drivers here make the kernels, the gradient and the
// OpDefs.
//
//   struct Relu {
//     static constexpr const char *name = "relu", *grad_name = "relu_grad";
//     static constexpr Reads reads = Reads::output;              // grad is given y
//     template <class T> static T f(T x) { return x > 0 ? x : T(0); }
//     template <class T> static T grad(T dy, T y) { return y > 0 ? dy : T(0); }
//   };
//   Tensor relu(const Tensor& x) { return apply1(Unary<Relu>::op, {contiguous(x)}); }
//
// Where the gradient is a product, df(x or y) says it: dx = dy * df. Where it is not, grad does.
// f, df and grad are computed in double for f64 and in float for everything else.
#pragma once

#include "core/apply.h"
#include "core/cpu/parallel.h"
#include "ops/broadcast.h"
#include "ops/copy/copy.h"

namespace plimsoll {

enum class Reads { input, output };  // what df or grad is a function of, and so what the tape keeps

// One input: y = f(x), dx = dy * df(x or y), or dx = grad(dy, x or y).
template <class F>
struct Unary {
  static Metas infer(std::span<const Meta> in, const Attrs&) {
    check<DTypeError>(is_floating(in[0].dtype), F::name, ": a floating type is needed: got ", in[0],
                      ". Cast it first.");
    return {in[0]};
  }

  static void cpu(const Call& call) {
    visit_floating(F::name, call.out[0].dtype(), [&]<class T>() {
      const T* x = call.in[0].as<T>();
      T* y = call.out[0].as<T>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i)
          y[i] = static_cast<T>(F::f(static_cast<Compute<T>>(x[i])));
      });
    });
  }

  template <class C>
  static C gradient(C dy, C saved) {
    if constexpr (requires { F::grad(dy, saved); })
      return F::grad(dy, saved);
    else
      return dy * F::df(saved);
  }

  static void grad_cpu(const Call& call) {
    visit_floating(F::name, call.out[0].dtype(), [&]<class T>() {
      const T* dy = call.in[0].as<T>();
      const T* saved = call.in[1].as<T>();
      T* dx = call.out[0].as<T>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) {
          // Both are loaded before anything is decided: a conditional load is not vectorised.
          const auto g = static_cast<Compute<T>>(dy[i]);
          const auto s = static_cast<Compute<T>>(saved[i]);
          dx[i] = static_cast<T>(gradient(g, s));
        }
      });
    });
  }

  static std::vector<Tensor> vjp(const Backward& b) {
    const Tensor saved = F::reads == Reads::input ? b.input(0) : b.output(0);
    return {apply1(grad, {contiguous(b.grad()), saved})};
  }

  static constexpr OpDef op{
      .name = F::name,
      .infer = infer,
      .cpu = cpu,
      .vjp = vjp,
      .saves = F::reads == Reads::input ? Saves{.inputs = bits(0)} : Saves{.outputs = bits(0)},
      .inplace = 0};
  static constexpr OpDef grad{
      .name = F::grad_name, .infer = same_as_input, .cpu = grad_cpu, .inplace = 0};
};

Metas infer_binary(const char* name, std::span<const Meta> in);

// Two inputs with NumPy broadcasting: y = f(a, b). Gradients are each op's own.
template <class F>
struct Binary {
  static Metas infer(std::span<const Meta> in, const Attrs&) { return infer_binary(F::name, in); }

  static void cpu(const Call& call) {
    visit_floating(F::name, call.out[0].dtype(), [&]<class T>() {
      map_pairs<T, T>(call, [](Compute<T> u, Compute<T> v) { return F::f(u, v); });
    });
  }
};

}  // namespace plimsoll
