#include "ops/attention/rope/rope.h"

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/attention/rope/attrs.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(rope_cuda);

namespace {

// Inputs: x [B, T, H, D], cos and sin [T, R / 2] or [B, T, R / 2]. Output: as x.
Metas rope_infer(std::span<const Meta> in, const Attrs&) {
  const Shape &x = in[0].shape, &cos = in[1].shape;
  check_floating("rope", in[0]);
  const DType wide = compute_dtype(in[0].dtype);
  check<DTypeError>(
      (in[1].dtype == in[0].dtype || in[1].dtype == wide) && in[2].dtype == in[1].dtype,
      "rope: cos and sin have the wrong type: got ", in[1].dtype, " and ", in[2].dtype, " for ",
      in[0].dtype, " data. Give them in ", wide, ".");
  check<ShapeError>(x.rank() == 4, "rope: x is not [B, T, H, D]: ", x,
                    ". Reshape it to [batch, length, heads, features].");
  check<ShapeError>(in[2].shape == cos && (cos.rank() == 2 || cos.rank() == 3) &&
                        (cos.rank() == 2 || cos[0] == x[0]) && cos[cos.rank() - 2] == x[1] &&
                        2 * cos.back() <= x[3],
                    "rope: cos and sin do not fit: ", cos, " and ", in[2].shape, " for x ", x,
                    ". Give both as [T, R / 2] or [B, T, R / 2].");
  return {in[0]};
}

// One head of one position. `step` lies between the members of a pair, `next` between pairs.
template <class T, class A, class C = Compute<T>>
void turn(const T* x, const A* cos, const A* sin, C sign, int64_t pairs, int64_t step, int64_t next,
          T* y) {
#pragma omp simd
  for (int64_t i = 0; i < pairs; ++i) {
    const C a = static_cast<C>(x[i * next]), b = static_cast<C>(x[i * next + step]);
    const C c = static_cast<C>(cos[i]), s = sign * static_cast<C>(sin[i]);
    y[i * next] = narrow<T>(a * c - b * s);
    y[i * next + step] = narrow<T>(a * s + b * c);
  }
}

template <class T, class A>
void rope_typed(const Call& call) {
  const auto& [own, back] = call.attrs.as<RopeTurnAttrs>();
  const bool interleaved = own.interleaved;
  const Compute<T> sign = back ? -1 : 1;
  const Shape& shape = call.in[0].shape();
  const int64_t heads = shape[2], width = shape[3], pairs = call.in[1].shape().back();
  const int64_t angles = count(call.in[1].shape()) / std::max<int64_t>(1, pairs);
  const T* x = call.in[0].as<T>();
  const A *cos = call.in[1].as<A>(), *sin = call.in[2].as<A>();
  T* y = call.out[0].as<T>();
  parallel_for(shape[0] * shape[1], grain_for(heads * width), [&](int64_t begin, int64_t end) {
    for (int64_t position = begin; position < end; ++position)
      for (int64_t head = position * heads; head < (position + 1) * heads; ++head) {
        const int64_t row = pairs > 0 ? position % angles * pairs : 0;
        const T* from = x + head * width;
        T* to = y + head * width;
        if (interleaved)
          turn(from, cos + row, sin + row, sign, pairs, 1, 2, to);
        else
          turn(from, cos + row, sin + row, sign, pairs, pairs, 1, to);
        std::copy(from + 2 * pairs, from + width, to + 2 * pairs);
      }
  });
}

void rope_cpu(const Call& call) {
  visit_floating("rope", call.in[0].dtype(), [&]<class T>() {
    if (call.in[1].dtype() == call.in[0].dtype())
      rope_typed<T, T>(call);
    else
      rope_typed<T, Compute<T>>(call);
  });
}

std::vector<Tensor> rope_vjp(const Backward& b);

constexpr OpDef rope_op{.name = "rope",
                        .infer = rope_infer,
                        .cpu = rope_cpu,
                        .cuda = rope_cuda,
                        .vjp = {.rule = rope_vjp, .inputs = bits(1, 2)}};

std::vector<Tensor> rope_vjp(const Backward& b) {
  RopeTurnAttrs attrs = b.attrs<RopeTurnAttrs>();
  attrs.back = !attrs.back;
  return {apply1(rope_op, {contiguous(b.grad()), b.input(1), b.input(2)}, attrs), {}, {}};
}

}  // namespace

RopeTables rope_tables(int64_t positions, int64_t width, double base, int64_t first,
                       Placement placement) {
  check<ValueError>(positions >= 0 && width >= 2 && width % 2 == 0 && base > 0,
                    "rope_tables: no such tables: ", positions, " positions, width ", width,
                    ", base ", base, ". Use an even width and a positive base.");
  std::vector<double> cos, sin;
  const int64_t last = checked_add(first, positions, "rope_tables");
  for (int64_t t = first; t < last; ++t)
    for (int64_t i = 0; i < width / 2; ++i) {
      const double share = -2 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = static_cast<double>(t) * std::pow(base, share);
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  const auto table = [&](const std::vector<double>& values) {
    const Shape shape{positions, width / 2};
    return cast(Tensor::of(std::span<const double>(values), shape, placement.device),
                placement.dtype);
  };
  return {table(cos), table(sin)};
}

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const RopeAttrs& attrs) {
  return apply1(rope_op, {contiguous(x), contiguous(cos.detach()), contiguous(sin.detach())},
                RopeTurnAttrs{attrs});
}

extern const std::vector<const OpDef*> rope_ops{&rope_op};

}  // namespace plimsoll
