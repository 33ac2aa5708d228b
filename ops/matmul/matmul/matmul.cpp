#include "ops/matmul/matmul/matmul.h"

#include "core/cpu/gemm/gemm16.h"
#include "core/cpu/gemm/gemm_tiles.h"
#include "core/cpu/gemm/widen.h"
#include "core/cpu/parallel.h"
#include "core/cuda/product.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(matmul_cuda);

namespace {

Shape batch_of(const Shape& shape) { return Shape(std::span(shape.begin(), shape.rank() - 2)); }

Metas matmul_infer(std::span<const Meta> in, const Attrs&) {
  const Shape &a = in[0].shape, &b = in[1].shape;
  check<DTypeError>(in[0].dtype == in[1].dtype && is_floating(in[0].dtype),
                    "matmul: two tensors of one floating type are needed: got ", in[0].dtype,
                    " and ", in[1].dtype, ". Cast one of them.");
  check<ShapeError>(a.rank() >= 2 && b.rank() >= 2, "matmul: matrices are needed: got ", a, " and ",
                    b, ". Reshape vectors to have a size of 1.");
  check<ShapeError>(a.back() == b[b.rank() - 2], "matmul: the inner sizes differ: ", a, " and ", b,
                    ". The last axis of the first must equal the last but one of the second.");
  Shape out = broadcast("matmul", batch_of(a), batch_of(b));
  out.push_back(a[a.rank() - 2]);
  out.push_back(b.back());
  return {{out, in[0].dtype, in[0].device}};
}

// Offset of matrix number `index` of the broadcast batch.
int64_t batch_offset(const View& x, const Shape& batch, int64_t index) {
  int64_t offset = 0;
  const int own = x.shape().rank() - 2;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    const int mine = axis - (batch.rank() - own);
    if (mine >= 0 && x.shape()[mine] != 1) offset += index % batch[axis] * x.strides[mine];
    index /= batch[axis];
  }
  return offset;
}

template <class T>
MatrixRef<T> matrix(const View& x, const Shape& batch, int64_t index) {
  const int r = x.shape().rank();
  return {x.as<T>() + batch_offset(x, batch, index), x.strides[r - 2], x.strides[r - 1]};
}

template <class T>
void multiply_batch(const View& a, const View& b, const View& out) {
  const int r = out.shape().rank();
  const int64_t m = out.shape()[r - 2], n = out.shape()[r - 1], k = a.shape().back();
  const Shape batch = batch_of(out.shape());
  T* c = out.as<T>();
  const auto product = [&](int64_t i) {
    if constexpr (std::is_same_v<T, BFloat16>)
      gemm_tiles(m, n, k, matrix<T>(a, batch, i), matrix<T>(b, batch, i), nullptr, c + i * m * n,
                 n);
    else
      gemm<T>(m, n, k, matrix<T>(a, batch, i), matrix<T>(b, batch, i), c + i * m * n, n);
  };
  parallel_for(count(batch), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product(i);
  });
}

// A product of 16 bits is widened piece by piece; those of a batch, which run side by side, have
// their operands widened as a whole.
int64_t matmul_workspace(const Call& call) {
  const Shape& c = call.out[0].shape();
  if (call.in[0].device() == Device::cuda)
    return cuda::product_bytes(call.in[0].dtype(), count(batch_of(c)), c[c.rank() - 2], c.back(),
                               call.in[0].shape().back());
  if (count(batch_of(c)) == 1)
    return gemm_16_bit_bytes(call.out[0].dtype(), c[c.rank() - 2], c.back(),
                             call.in[0].shape().back());
  return widened_bytes(call.in[0].meta) + widened_bytes(call.in[1].meta) +
         widened_bytes(call.out[0].meta);
}

void matmul_cpu(const Call& call) {
  const View &x = call.in[0], &y = call.in[1], &out = call.out[0];
  visit_floating("matmul", out.dtype(), [&]<class T>() {
    std::byte* scratch = call.workspace.data();
    const Shape &shape = out.shape(), batch = batch_of(shape);
    if (count(batch) == 1)
      return multiply<T>(shape[shape.rank() - 2], shape.back(), x.shape().back(),
                         matrix<T>(x, batch, 0), matrix<T>(y, batch, 0), nullptr, out.as<T>(),
                         scratch);
    if constexpr (sizeof(T) > 2) {
      multiply_batch<T>(x, y, out);
    } else {
      if constexpr (std::is_same_v<T, BFloat16>)
        if (bfloat16_products() == BFloat16Products::tiles) return multiply_batch<T>(x, y, out);
      const View a = widen(x, scratch), b = widen(y, scratch), c = widened_like(out, scratch);
      multiply_batch<float>(a, b, c);
      narrow(c, out);
    }
  });
}

std::vector<Tensor> matmul_vjp(const Backward& b) {
  Tensor da, db;
  if (b.needs(0)) da = sum_to(matmul(b.grad(), transpose(b.input(1))), b.input_meta(0).shape);
  if (b.needs(1)) db = sum_to(matmul(transpose(b.input(0)), b.grad()), b.input_meta(1).shape);
  return {da, db};
}

double matmul_flops(std::span<const Meta> in, std::span<const Meta> out, const Attrs&) {
  return 2.0 * static_cast<double>(count(out[0].shape)) * static_cast<double>(in[0].shape.back());
}

constexpr OpDef matmul_op{.name = "matmul",
                          .infer = matmul_infer,
                          .cpu = matmul_cpu,
                          .cuda = matmul_cuda,
                          .vjp = {.rule = matmul_vjp, .inputs = bits(0, 1)},
                          .strided = everything,
                          .workspace = matmul_workspace,
                          .cast = CastRule::low,
                          .flops = matmul_flops};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  // One matrix for a whole batch [..., T, K]: the batch is one tall matrix. Its gradient is then
  // one product too, instead of a batch of [K, N] to be added up.
  if (a.defined() && b.defined() && a.rank() > 2 && b.rank() == 2 && a.contiguous() &&
      a.shape().back() == b.shape()[0]) {
    const Shape rows(std::span(a.shape().begin(), a.rank() - 1));
    Shape out = rows;
    out.push_back(b.shape()[1]);
    return reshape(matmul(reshape(a, {count(rows), b.shape()[0]}), b), out);
  }
  const auto operand = [](const Tensor& x) {
    if (!x.defined() || x.rank() < 2) return x;  // apply and the shape rule refuse it
    const int r = x.rank();
    const Strides& s = x.value().strides;
    return s[r - 1] == 1 || s[r - 2] == 1 ? x : contiguous(x);
  };
  return apply1(matmul_op, {operand(a), operand(b)});
}

extern const std::vector<const OpDef*> matmul_ops{&matmul_op};

}  // namespace plimsoll
