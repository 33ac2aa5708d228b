// Formulas: what a pointwise op computes from one element, as a struct that the loops of the CPU
// (ops/common/pointwise.h) and the kernels of a GPU (ops/common/pointwise.cuh) share.
//
//   struct Relu {
//     static constexpr const char *name = "relu", *grad_name = "relu_grad";
//     static constexpr Reads reads = Reads::output;              // grad is given y
//     template <class T> static constexpr T f(T x) { return x > 0 ? x : T(0); }
//     template <class T> static constexpr T grad(T dy, T y) { return y > 0 ? dy : T(0); }
//   };
//
// Where the gradient is a product, df(x or y) says it: dx = dy * df. Where it is not, grad does.
// f, df and grad are computed in double for f64 and in float for everything else.
//
// Types: f(a, b), of two operands, takes floating types alone; with `static constexpr Types types =
// Types::numbers` it takes integers too, and with Types::any also bools.
// Attributes: with `using Constants = EluAttrs;`, f, df and grad get that struct after their other
// arguments, and the op is applied with one.
// Light: with `static constexpr bool light = true` it computes less than it waits for memory
// anyway; for others the CPU's loops ask for their operands ahead (core/cpu/prefetch.h). Reach:
// with `static constexpr float reach`, an argument that is not within +-reach, where the f32
// polynomials are no good, is computed in double.
#pragma once

#include <cmath>
#include <type_traits>

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/op.h"

namespace plimsoll {

enum class Reads { input, output };  // what df or grad is a function of, and so what the tape keeps

struct NoConstants {};
template <class F>
struct ConstantsRule {
  using Type = NoConstants;
};
template <class F>
requires requires { typename F::Constants; }
struct ConstantsRule<F> {
  using Type = typename F::Constants;
};
template <class F>
using ConstantsOf = typename ConstantsRule<F>::Type;
template <class F>
constexpr bool has_constants = !std::is_same_v<ConstantsOf<F>, NoConstants>;

template <class F, class C>
constexpr C value(C x, const ConstantsOf<F>& constants) {
  if constexpr (has_constants<F>)
    return F::f(x, constants);
  else
    return F::f(x);
}

template <class F, class C>
constexpr C gradient(C dy, C saved, const ConstantsOf<F>& constants) {
  if constexpr (requires { F::grad(dy, saved, constants); })
    return F::grad(dy, saved, constants);
  else if constexpr (requires { F::grad(dy, saved); })
    return F::grad(dy, saved);
  else if constexpr (has_constants<F>)
    return dy * F::df(saved, constants);
  else
    return dy * F::df(saved);
}

enum class Types { floating, numbers, any };  // that a formula of two operands takes
template <class F>
constexpr Types types_of = [] {
  if constexpr (requires { F::types; })
    return F::types;
  else
    return Types::floating;
}();

template <class F>
ConstantsOf<F> constants_of(const Attrs& attrs) {
  if constexpr (has_constants<F>)
    return attrs.as<ConstantsOf<F>>();
  else
    return {};
}

// Kernels of a GPU, defined in ops/common/pointwise.cuh for the formulas that a .cu file names.
template <class F>
PLIMSOLL_CUDA_KERNEL(unary_cuda);
template <class F>
PLIMSOLL_CUDA_KERNEL(unary_grad_cuda);
template <class F>
PLIMSOLL_CUDA_KERNEL(binary_cuda);

}  // namespace plimsoll
