#include "ops/quantise/quantised_linear/quantised_linear.h"

#include "core/cpu/gemm/pieces.h"
#include "core/cuda/product.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/quantise/common/decode.h"
#include "ops/quantise/quantised_linear/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(quantised_linear_cuda);

namespace {

// Inputs: x [..., I], or with `transposed` [..., O], and the parts of w.
Metas quantised_linear_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [w, transposed] = attrs.as<QuantisedLinearAttrs>();
  const Shape& x = in[0].shape;
  check_floating("quantised_linear", in[0]);
  check_parts("quantised_linear", in.subspan(1), w);
  const int64_t inputs = w.shape[transposed ? 0 : 1], outputs = w.shape[transposed ? 1 : 0];
  check<ShapeError>(x.rank() >= 1 && x.back() == inputs,
                    "quantised_linear: the inner sizes differ: x ", x, " and w ", w.shape,
                    ". The last axis of x must equal the last axis of w.");
  Shape out = x;
  out[x.rank() - 1] = outputs;
  return {{out, in[0].dtype, in[0].device}};
}

// y [m, n] = x [m, k] B, of which B is the weight or its transpose.
struct Sizes {
  int64_t m, n, k;
  explicit Sizes(const Call& call) : n(call.out[0].shape().back()), k(call.in[0].shape().back()) {
    m = 1;
    for (int axis = 0; axis + 1 < call.out[0].shape().rank(); ++axis)
      m *= call.out[0].shape()[axis];
  }
  // All terms of some columns, so that y is written once; fewer of both where x passes through f32.
  GemmPieces pieces(DType dtype) const {
    if (size_of(dtype) == 2)
      return {std::min<int64_t>(m, 512), std::min<int64_t>(n, 2048), std::min<int64_t>(k, 512)};
    constexpr int64_t kPiece = 1 << 20, kNarrowest = 256;  // 4 MB of f32; fewer columns are slow
    const int64_t columns = kPiece / std::max<int64_t>(k, 1) / nf4::kBlock * nf4::kBlock;
    return {m, std::min(n, std::max(columns, kNarrowest)), k};
  }
};

int64_t quantised_linear_workspace(const Call& call) {
  const auto& w = call.attrs.as<QuantisedLinearAttrs>().weight;
  const Sizes s(call);
  if (call.in[0].device() == Device::cuda)
    return whole_weight_bytes(w.shape, call.in[0].dtype()) + cuda::product_bytes(call.in[0].dtype(),
                                                                                 1, s.m, s.n, s.k,
                                                                                 /*pads_a=*/false);
  return s.pieces(call.in[0].dtype()).bytes(size_of(call.in[0].dtype()));
}

void quantised_linear_cpu(const Call& call) {
  const auto& [w, transposed] = call.attrs.as<QuantisedLinearAttrs>();
  const Decoder decoder(call.in.subspan(1), w);
  const Sizes s(call);
  visit_floating("quantised_linear", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const auto decode_rows = [&](int64_t row, int64_t rows, int64_t column, int64_t n, C* to) {
      parallel_for(rows, grain_for(n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) decoder.decode(row + r, column, n, to + r * n);
      });
    };
    const auto right = [&](int64_t term, int64_t terms, int64_t column, int64_t columns, C* to) {
      if (transposed) {
        decode_rows(term, terms, column, columns, to);
        return MatrixRef<C>{to, columns, 1};
      }
      decode_rows(column, columns, term, terms, to);
      return MatrixRef<C>{to, 1, terms};
    };
    const MatrixRef<T> x{call.in[0].as<T>(), s.k, 1};
    const auto left = [&](int64_t row, int64_t rows, int64_t term, int64_t terms, C* to) {
      return widen_piece(part_of(x, row, term), rows, terms, to);
    };
    multiply_pieces<C>(s.m, s.n, s.k, left, right, static_cast<const T*>(nullptr),
                       call.out[0].as<T>(), call.workspace.data(), s.pieces(call.in[0].dtype()));
  });
}

Tensor apply_to(const Tensor& x, std::vector<Tensor> in, const QuantisedLinearAttrs& attrs);

std::vector<Tensor> quantised_linear_vjp(const Backward& b) {
  QuantisedLinearAttrs attrs = b.attrs<QuantisedLinearAttrs>();
  attrs.transposed = !attrs.transposed;
  std::vector<Tensor> parts, grads(static_cast<size_t>(b.inputs()));
  for (int i = 1; i < b.inputs(); ++i) parts.push_back(b.input(i));
  if (b.needs(0)) grads[0] = apply_to(b.grad(), parts, attrs);
  return grads;
}

double quantised_linear_flops(std::span<const Meta> in, std::span<const Meta> out, const Attrs&) {
  return 2.0 * static_cast<double>(count(out[0].shape)) * static_cast<double>(in[0].shape.back());
}

constexpr OpDef quantised_linear_op{.name = "quantised_linear",
                                    .infer = quantised_linear_infer,
                                    .cpu = quantised_linear_cpu,
                                    .cuda = quantised_linear_cuda,
                                    .vjp = {.rule = quantised_linear_vjp, .inputs = all_but_first},
                                    .workspace = quantised_linear_workspace,
                                    .flops = quantised_linear_flops};

Tensor apply_to(const Tensor& x, std::vector<Tensor> in, const QuantisedLinearAttrs& attrs) {
  in.insert(in.begin(), contiguous(x));
  return apply(quantised_linear_op, in, attrs).front();
}

}  // namespace

Tensor quantised_linear(const Tensor& x, const Quantised& w) {
  check_defined("quantised_linear", x);
  const Tensor cast = autocast(CastRule::low, {x}).front();
  return apply_to(cast, parts_of(w), {{w.kind, w.shape, DType::f32}, false});
}

extern const std::vector<const OpDef*> quantised_linear_ops{&quantised_linear_op};

}  // namespace plimsoll
