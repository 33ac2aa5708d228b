#include "ops/pointwise/compare/compare.h"

#include "core/base/convert.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/pointwise/compare/kernels.h"
#include "ops/random/full/full.h"

namespace plimsoll {
namespace {

// F is one of the standard library's function objects, such as std::less<>.
template <class F>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<std::equal_to<>> = "eq";
template <>
constexpr const char* kName<std::not_equal_to<>> = "ne";
template <>
constexpr const char* kName<std::less<>> = "lt";
template <>
constexpr const char* kName<std::less_equal<>> = "le";
template <>
constexpr const char* kName<std::greater<>> = "gt";
template <>
constexpr const char* kName<std::greater_equal<>> = "ge";
template <>
constexpr const char* kName<std::bit_and<>> = "logical_and";
template <>
constexpr const char* kName<std::bit_or<>> = "logical_or";
template <>
constexpr const char* kName<std::bit_xor<>> = "logical_xor";

template <class F>
Metas compare_infer(std::span<const Meta> in, const Attrs&) {
  check_same_type(kName<F>, in);
  return {{broadcast(kName<F>, in[0].shape, in[1].shape), DType::boolean, in[0].device}};
}

template <class F>
void compare_cpu(const Call& call) {
  visit_any(call.in[0].dtype(), [&]<class T>() { map_pairs<T, bool>(call, F{}); });
}

void check_bool(const char* name, const Meta& meta) {
  check<DTypeError>(meta.dtype == DType::boolean, name, ": a tensor of bools is needed: got ", meta,
                    ". Compare it with 0 first.");
}

template <class F>
Metas logical_infer(std::span<const Meta> in, const Attrs&) {
  check_bool(kName<F>, in[0]);
  check_bool(kName<F>, in[1]);
  return {{broadcast(kName<F>, in[0].shape, in[1].shape), DType::boolean, in[0].device}};
}

// On bools the bitwise operators are the logical ones, without branches.
template <class F>
void logical_cpu(const Call& call) {
  map_pairs<bool, bool>(call, F{});
}

template <class F>
constexpr OpDef compare_op{.name = kName<F>,
                           .infer = compare_infer<F>,
                           .cpu = compare_cpu<F>,
                           .cuda = compare_cuda<F>,
                           .strided = everything,
                           .cast = CastRule::widest};

template <class F>
constexpr OpDef logical_op{.name = kName<F>,
                           .infer = logical_infer<F>,
                           .cpu = logical_cpu<F>,
                           .cuda = compare_cuda<F>,
                           .inplace = 0,
                           .strided = everything};

template <class F>
Tensor compare(const Tensor& a, const Tensor& b) {
  return apply1(compare_op<F>, {a.detach(), b.detach()});
}

template <class F>
Tensor compare(const Tensor& x, double c) {
  check_defined(kName<F>, x);
  visit_any(x.dtype(), [&]<class T>() {
    // 2^63 is cut to the largest i64, which as a double is 2^63 again.
    if constexpr (std::is_integral_v<T>)
      check<ValueError>(c < std::ldexp(1.0, std::numeric_limits<T>::digits) &&
                            static_cast<double>(convert<T>(c)) == c,
                        kName<F>, ": the constant is no ", x.dtype(), ": ", c,
                        ". Cast the tensor to a type that has it.");
  });
  return compare<F>(x, full({}, c, {x.dtype(), x.device()}));
}

template <class F>
Tensor logical(const Tensor& a, const Tensor& b) {
  return apply1(logical_op<F>, {a, b});
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare<std::equal_to<>>(a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare<std::not_equal_to<>>(a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare<std::less<>>(a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare<std::less_equal<>>(a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare<std::greater<>>(a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare<std::greater_equal<>>(a, b); }

Tensor eq(const Tensor& x, double c) { return compare<std::equal_to<>>(x, c); }
Tensor ne(const Tensor& x, double c) { return compare<std::not_equal_to<>>(x, c); }
Tensor lt(const Tensor& x, double c) { return compare<std::less<>>(x, c); }
Tensor le(const Tensor& x, double c) { return compare<std::less_equal<>>(x, c); }
Tensor gt(const Tensor& x, double c) { return compare<std::greater<>>(x, c); }
Tensor ge(const Tensor& x, double c) { return compare<std::greater_equal<>>(x, c); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return logical<std::bit_and<>>(a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return logical<std::bit_or<>>(a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return logical<std::bit_xor<>>(a, b); }

Tensor logical_not(const Tensor& x) {
  check_defined("logical_not", x);
  check_bool("logical_not", x.meta());
  return eq(x, 0);
}

extern const std::vector<const OpDef*> compare_ops{
    &compare_op<std::equal_to<>>, &compare_op<std::not_equal_to<>>,
    &compare_op<std::less<>>,     &compare_op<std::less_equal<>>,
    &compare_op<std::greater<>>,  &compare_op<std::greater_equal<>>,
    &logical_op<std::bit_and<>>,  &logical_op<std::bit_or<>>,
    &logical_op<std::bit_xor<>>};

}  // namespace plimsoll
