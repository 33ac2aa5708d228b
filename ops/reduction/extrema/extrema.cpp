#include "ops/reduction/extrema/extrema.h"

#include <cmath>

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/pointwise.h"
#include "ops/reduction/extrema/formulas.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

using formulas::Maximum, formulas::Minimum, formulas::ShareOfLarger, formulas::Clamp;

PLIMSOLL_CUDA_KERNEL(share_cuda);

namespace {

// Inputs: dy, u, v. Output: what u gets of dy when the larger of u and v was taken.
void share_cpu(const Call& call) {
  visit_floating("share_of_larger", call.out[0].dtype(), [&]<class T>() {
    map_triples<T, T, T, T>(call,
                            [](auto dy, auto u, auto v) { return ShareOfLarger::f(dy, u, v); });
  });
}

constexpr OpDef share_op{.name = ShareOfLarger::name,
                         .infer = same_as_input,
                         .cpu = share_cpu,
                         .cuda = share_cuda,
                         .inplace = 0,
                         .strided = everything};

Tensor share(const Backward& b, int i, const Tensor& larger, const Tensor& smaller) {
  return b.needs(i) ? sum_to(apply1(share_op, {b.grad(), larger, smaller}), b.input_meta(i).shape)
                    : Tensor();
}

// The smaller was taken where the other is the larger one.
std::vector<Tensor> maximum_vjp(const Backward& b) {
  return {share(b, 0, b.input(0), b.input(1)), share(b, 1, b.input(1), b.input(0))};
}
std::vector<Tensor> minimum_vjp(const Backward& b) {
  return {share(b, 0, b.input(1), b.input(0)), share(b, 1, b.input(0), b.input(1))};
}

constexpr OpDef maximum_op = binary_op<Maximum>({.rule = maximum_vjp, .inputs = bits(0, 1)});
constexpr OpDef minimum_op = binary_op<Minimum>({.rule = minimum_vjp, .inputs = bits(0, 1)});

Metas clamp_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [low, high] = attrs.as<ClampAttrs>();
  check_floating("clamp", in[0]);
  check<ValueError>(!std::isnan(low) && !std::isnan(high), "clamp: a bound is NaN: ", low, " to ",
                    high, ". Use numbers, or infinities for no bound.");
  return {in[0]};
}

// Inputs: dy, x.
void clamp_grad_cpu(const Call& call) {
  const ClampAttrs attrs = call.attrs.as<ClampAttrs>();
  visit_floating("clamp_grad", call.out[0].dtype(), [&]<class T>() {
    map_pairs<T, T>(call, [=](Compute<T> dy, Compute<T> x) { return Clamp::grad(dy, x, attrs); });
  });
}

constexpr OpDef clamp_grad_op{.name = Clamp::grad_name,
                              .infer = same_as_input,
                              .cpu = clamp_grad_cpu,
                              .cuda = unary_grad_cuda<Clamp>,
                              .inplace = 0,
                              .strided = everything};

std::vector<Tensor> clamp_vjp(const Backward& b) {
  return {apply1(clamp_grad_op, {b.grad(), b.input(0)}, b.attrs<ClampAttrs>())};
}

constexpr OpDef clamp_op{.name = Clamp::name,
                         .infer = clamp_infer,
                         .cpu = Unary<Clamp>::cpu,
                         .cuda = unary_cuda<Clamp>,
                         .vjp = {.rule = clamp_vjp, .inputs = bits(0)},
                         .inplace = 0};

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return apply1(maximum_op, {a, b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply1(minimum_op, {a, b}); }

Tensor clamp(const Tensor& x, double low, double high) {
  return apply1(clamp_op, {contiguous(x)}, ClampAttrs{low, high});
}

extern const std::vector<const OpDef*> extrema_ops{&maximum_op, &minimum_op, &share_op, &clamp_op,
                                                   &clamp_grad_op};

}  // namespace plimsoll
