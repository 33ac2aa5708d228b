#include "ops/copy/copy.h"

#include <limits>

#include "core/apply.h"
#include "core/cpu/copy.h"
#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

void copy_cpu(const Call& call) { copy_strided(call.in[0], call.out[0]); }

std::vector<Tensor> copy_vjp(const Backward& b) { return {b.grad()}; }

constexpr OpDef copy_op{
    .name = "copy", .infer = same_as_input, .cpu = copy_cpu, .vjp = copy_vjp, .strided = bits(0)};

struct CastAttrs {
  DType dtype;
  bool operator==(const CastAttrs&) const = default;
};

Metas cast_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{in[0].shape, attrs.as<CastAttrs>().dtype, in[0].device}};
}

template <class From>
auto widened(From x) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return static_cast<float>(x);
  else
    return x;
}

template <class To, class From>
To converted(From from) {
  const auto x = widened(from);
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<decltype(x)>) {
    // 2^63 is a float, the largest int64 is not: compare with >= against the first that is too big.
    using Limits = std::numeric_limits<To>;
    const auto above = std::ldexp(decltype(x)(1), Limits::digits);
    if (!(x == x)) return 0;
    if (x >= above) return Limits::max();
    if (x < static_cast<decltype(x)>(Limits::min())) return Limits::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

void cast_cpu(const Call& call) {
  visit_any(call.in[0].dtype(), [&]<class From>() {
    visit_any(call.out[0].dtype(), [&]<class To>() {
      const From* x = call.in[0].as<From>();
      To* y = call.out[0].as<To>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) y[i] = converted<To>(x[i]);
      });
    });
  });
}

std::vector<Tensor> cast_vjp(const Backward& b) {
  return {is_floating(b.input_meta(0).dtype) ? cast(b.grad(), b.input_meta(0).dtype) : Tensor()};
}

constexpr OpDef cast_op{.name = "cast", .infer = cast_infer, .cpu = cast_cpu, .vjp = cast_vjp};

}  // namespace

Tensor contiguous(const Tensor& x) { return !x.defined() || x.contiguous() ? x : clone(x); }

Tensor clone(const Tensor& x) { return apply1(copy_op, {x}); }

Tensor cast(const Tensor& x, DType dtype) {
  return x.defined() && x.dtype() == dtype ? x : apply1(cast_op, {contiguous(x)}, CastAttrs{dtype});
}

extern const std::vector<const OpDef*> copy_ops;
const std::vector<const OpDef*> copy_ops{&copy_op, &cast_op};

}  // namespace plimsoll
