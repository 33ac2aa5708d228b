#include "ops/arithmetic/arithmetic.h"

#include "ops/pointwise.h"
#include "ops/sum/sum.h"

namespace plimsoll {
namespace {

struct Add {
  static constexpr const char* name = "add";
  template <class T>
  static T f(T a, T b) {
    return a + b;
  }
};
struct Sub {
  static constexpr const char* name = "sub";
  template <class T>
  static T f(T a, T b) {
    return a - b;
  }
};
struct Mul {
  static constexpr const char* name = "mul";
  template <class T>
  static T f(T a, T b) {
    return a * b;
  }
};
struct Div {
  static constexpr const char* name = "div";
  template <class T>
  static T f(T a, T b) {
    return a / b;
  }
};

// The gradient of input i when the broadcast result would have gradient g(): summed over the
// repeated axes; undefined when nobody wants it.
template <class G>
Tensor reduced(const Backward& b, int i, G&& g) {
  return b.needs(i) ? sum_to(g(), b.input_meta(i).shape) : Tensor();
}

std::vector<Tensor> add_vjp(const Backward& b) {
  const auto dy = [&] { return b.grad(); };
  return {reduced(b, 0, dy), reduced(b, 1, dy)};
}

std::vector<Tensor> sub_vjp(const Backward& b) {
  return {reduced(b, 0, [&] { return b.grad(); }), reduced(b, 1, [&] { return -b.grad(); })};
}

std::vector<Tensor> mul_vjp(const Backward& b) {
  return {reduced(b, 0, [&] { return b.grad() * b.input(1); }),
          reduced(b, 1, [&] { return b.grad() * b.input(0); })};
}

// d(a / b) = da / b - (a / b) db / b
std::vector<Tensor> div_vjp(const Backward& b) {
  return {reduced(b, 0, [&] { return b.grad() / b.input(1); }),
          reduced(b, 1, [&] { return -(b.grad() * b.output(0) / b.input(1)); })};
}

template <class F>
constexpr OpDef binary_op(Vjp vjp, Saves saves) {
  return {.name = F::name,
          .infer = Binary<F>::infer,
          .cpu = Binary<F>::cpu,
          .vjp = vjp,
          .saves = saves,
          .inplace = 0,
          .strided = everything};
}
constexpr OpDef add_op = binary_op<Add>(add_vjp, {});
constexpr OpDef sub_op = binary_op<Sub>(sub_vjp, {});
constexpr OpDef mul_op = binary_op<Mul>(mul_vjp, {.inputs = bits(0, 1)});
constexpr OpDef div_op = binary_op<Div>(div_vjp, {.inputs = bits(1), .outputs = bits(0)});

struct AffineAttrs {
  double scale, shift;
  bool operator==(const AffineAttrs&) const = default;
};

Metas affine_infer(std::span<const Meta> in, const Attrs&) {
  check<DTypeError>(is_floating(in[0].dtype), "affine: a floating type is needed: got ",
                    in[0].dtype, ". Cast it first.");
  return {in[0]};
}

void affine_cpu(const Call& call) {
  const auto& [scale, shift] = call.attrs.as<AffineAttrs>();
  visit_floating("affine", call.out[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    const auto s = static_cast<Compute<T>>(scale), c = static_cast<Compute<T>>(shift);
    parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i)
        y[i] = static_cast<T>(s * static_cast<Compute<T>>(x[i]) + c);
    });
  });
}

std::vector<Tensor> affine_vjp(const Backward& b) {
  return {affine(b.grad(), b.attrs<AffineAttrs>().scale, 0)};
}

constexpr OpDef affine_op{
    .name = "affine", .infer = affine_infer, .cpu = affine_cpu, .vjp = affine_vjp, .inplace = 0};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return apply1(add_op, {a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return apply1(sub_op, {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply1(mul_op, {a, b}); }
Tensor div(const Tensor& a, const Tensor& b) { return apply1(div_op, {a, b}); }

Tensor affine(const Tensor& x, double scale, double shift) {
  return apply1(affine_op, {contiguous(x)}, AffineAttrs{scale, shift});
}

extern const std::vector<const OpDef*> arithmetic_ops;
const std::vector<const OpDef*> arithmetic_ops{&add_op, &sub_op, &mul_op, &div_op, &affine_op};

}  // namespace plimsoll
