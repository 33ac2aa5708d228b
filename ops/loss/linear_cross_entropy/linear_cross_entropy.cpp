#include "ops/loss/linear_cross_entropy/linear_cross_entropy.h"

#include "core/cpu/gemm/gemm16.h"
#include "core/cpu/gemm/gemm_tiles.h"
#include "core/cpu/gemm/widen.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/loss/cross_entropy/rows.h"
#include "ops/loss/linear_cross_entropy/on_cuda.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(linear_cross_entropy_cuda);
PLIMSOLL_CUDA_KERNEL(linear_cross_entropy_grad_cuda);

namespace {

using namespace linear_cross_entropy_detail;

constexpr const char* kName = "linear_cross_entropy";

// Inputs: x [..., I], w [C, I], labels [...], perhaps bias [C], perhaps class weights [C]. Outputs:
// the loss and LogSum [..., 2], as cross_entropy's.
Metas fused_infer(std::span<const Meta> in, const Attrs& attrs) {
  const FusedAttrs& own = attrs.as<FusedAttrs>();
  const Meta &x = in[kX], &w = in[kW];
  for (const int i : {kX, kW, own.has_bias ? kBias : kW})
    check<DTypeError>(in[i].dtype == x.dtype && is_floating(x.dtype), kName,
                      ": tensors of one floating type are needed: got ", x.dtype, " and ",
                      in[i].dtype, ". Cast one of them.");
  check<ShapeError>(w.shape.rank() == 2, kName, ": w is not a matrix: ", w.shape,
                    ". Give it the shape [classes, inputs].");
  check<ShapeError>(x.shape.rank() >= 1 && x.shape.back() == w.shape[1], kName,
                    ": the inner sizes differ: x ", x.shape, " and w ", w.shape,
                    ". The last axis of x must equal the last axis of w.");
  check<ShapeError>(!own.has_bias || in[kBias].shape == Shape{w.shape[0]}, kName,
                    ": the bias does not fit: ", in[kBias].shape, " for w ", w.shape,
                    ". Give it the shape [", w.shape[0], "].");
  Meta logits = x;
  logits.shape[x.shape.rank() - 1] = w.shape[0];
  check_classes(kName, "logits", logits, in[kLabels],
                own.has_weight ? &in[kBias + own.has_bias] : nullptr);
  return {losses_of(in[kLabels], x.dtype, own.loss.reduction), log_sums_of(in[kLabels], x.dtype)};
}

// Chunks of rows: about a quarter of a million logits stay in the cache, but with fewer than 256
// rows the products would spend their time on packing w and adding to its gradient.
struct Sizes {
  int64_t rows, inputs, classes, chunk, step;

  Sizes(const Shape& w, const Shape& labels)
      : rows(count(labels)),
        inputs(w[1]),
        classes(w[0]),
        chunk(
            std::max<int64_t>(1, std::min(rows, std::max<int64_t>(256, grain_for(classes) * 16)))),
        step(grain_for(4 * classes)) {}

  int64_t partials() const { return pieces(chunk, step); }  // partial losses of a chunk
  Meta x_chunk(const Meta& x) const { return {{chunk, inputs}, x.dtype, x.device}; }
  Meta logits(const Meta& x) const { return {{chunk, classes}, compute_dtype(x.dtype), x.device}; }
};

// The logits of a chunk, and what its products take: none of them holds all of w in f32.
int64_t chunk_bytes(const Meta& x, const Sizes& s, bool gradient) {
  const auto product = [&](int64_t n, int64_t k) {
    return block_bytes(gemm_16_bit_bytes(x.dtype, s.chunk, n, k));
  };
  return block_bytes(bytes_of(s.logits(x))) +
         std::max(product(s.classes, s.inputs), gradient ? product(s.inputs, s.classes) : 0);
}

int64_t fused_workspace(const Call& call) {
  if (call.in[kX].device() == Device::cuda)
    return CudaScratch(call.in[kX].meta, call.in[kW].shape(), call.in[kLabels].shape(), false)
        .bytes;
  const Sizes sizes(call.in[kW].shape(), call.in[kLabels].shape());
  return chunk_bytes(call.in[kX].meta, sizes, false) +
         pieces(sizes.rows, sizes.chunk) * sizes.partials() * static_cast<int64_t>(sizeof(double));
}

// Rows first ... first + n - 1 of a tensor seen as a matrix.
View rows_of(const View& all, int64_t first, int64_t n, int64_t width) {
  return {all.as<std::byte>() + first * width * size_of(all.dtype()),
          {{n, width}, all.dtype(), all.meta.device},
          {width, 1}};
}

// [m, n] = a b, each row plus a bias where there is one. b's type is T, that of a or of c may be
// what T is computed in.
template <class T, class A, class C>
void product(int64_t m, int64_t n, int64_t k, MatrixRef<A> a, MatrixRef<T> b, const T* bias, C* c,
             std::byte* scratch) {
  if constexpr (is_16_bit<T>) {
    gemm_16_bit(m, n, k, a, b, bias, c, scratch);
  } else {
    if (bias)
      parallel_for(m, grain_for(n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) std::copy_n(bias, n, c + r * n);
      });
    gemm<T>(m, n, k, a, b, c, n, bias ? Store::accumulate : Store::overwrite);
  }
}

// The rows in chunks, with the logits of one, in the type C that they are computed in.
template <class T>
struct Chunks {
  using C = Compute<T>;
  Sizes sizes;
  const T *x, *w, *bias;
  C* logits;
  std::byte* products;  // scratch of one after the other
  CrossEntropyRows<C> each;

  Chunks(const Call& call, const FusedAttrs& attrs, bool gradient, std::byte*& scratch)
      : sizes(call.in[kW].shape(), call.in[kLabels].shape()),
        x(call.in[kX].as<T>()),
        w(call.in[kW].as<T>()),
        bias(attrs.has_bias ? call.in[kBias].as<T>() : nullptr),
        logits(reinterpret_cast<C*>(scratch)),
        products(scratch + block_bytes(bytes_of(sizes.logits(call.in[kX].meta)))),
        each(call.in[kLabels], attrs.has_weight ? &call.in[kBias + attrs.has_bias] : nullptr,
             sizes.classes, attrs.loss) {
    scratch += chunk_bytes(call.in[kX].meta, sizes, gradient);
  }

  // f(first, n) for every chunk of n rows from `first`, in order, with its logits computed.
  template <class F>
  void for_each(const F& f) {
    const int64_t classes = sizes.classes, inputs = sizes.inputs;
    for (int64_t first = 0; first < sizes.rows; first += sizes.chunk) {
      const int64_t n = std::min(sizes.chunk, sizes.rows - first);
      product(n, classes, inputs, MatrixRef<T>{x + first * inputs, inputs, 1},
              MatrixRef<T>{w, 1, inputs}, bias, logits, products);
      f(first, n);
    }
  }
};

void fused_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<FusedAttrs>();
  visit_floating(kName, call.in[kX].dtype(), [&]<class T>() {
    using C = Compute<T>;
    std::byte* scratch = call.workspace.data();
    Chunks<T> chunks(call, attrs, false, scratch);
    const Sizes& sizes = chunks.sizes;
    check_labels(kName, call.in[kLabels], sizes.classes, attrs.loss.ignore_index);
    double* partial = reinterpret_cast<double*>(scratch);
    double* next = partial;
    C* y = call.out[0].as<C>();
    auto* log_sums = reinterpret_cast<LogSum<C>*>(call.out[1].as<C>());
    const bool none = attrs.loss.reduction == Reduction::none;
    chunks.for_each([&](int64_t first, int64_t n) {
      sum_losses(n, sizes.step, none ? y + first : nullptr, next, [&](int64_t r) {
        const auto result = chunks.each.forward(chunks.logits + r * sizes.classes, first + r);
        log_sums[first + r] = result.log_sum;
        return result.loss;
      });
      next += pieces(n, sizes.step);
    });
    if (!none)
      *y = static_cast<C>(reduced_loss(
          partial, next - partial, chunks.each.weights.divisor(sizes.rows, attrs.loss.reduction)));
  });
}

// Inputs: those of the op, dy and LogSum. Outputs: the gradients that are wanted.
Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  Metas out;
  for (const int i : {kX, kW, kBias})
    if (has(attrs.as<FusedAttrs>().wanted, i)) out.push_back(in[i]);
  return out;
}

int64_t grad_workspace(const Call& call) {
  if (call.in[kX].device() == Device::cuda)
    return CudaScratch(call.in[kX].meta, call.in[kW].shape(), call.in[kLabels].shape(), true).bytes;
  const Sizes sizes(call.in[kW].shape(), call.in[kLabels].shape());
  const Meta& x = call.in[kX].meta;
  int64_t bytes = chunk_bytes(x, sizes, true) +
                  block_bytes(sizes.classes * static_cast<int64_t>(sizeof(double)));
  if (has(call.attrs.as<FusedAttrs>().wanted, kW))
    bytes += widened_bytes(call.in[kW].meta) + widened_bytes(sizes.x_chunk(x));
  return bytes;
}

// sums[c] += sum_r d[r, c]
template <class C>
void add_columns(const C* d, int64_t rows, int64_t n, double* sums) {
  parallel_for(n, grain_for(rows), [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < rows; ++r)
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) sums[c] += static_cast<double>(d[r * n + c]);
  });
}

// dw [classes, inputs] = d^T x, or +=, for n rows of both. `scratch` has room for x in f32.
template <class T>
void weight_gradient(int64_t classes, int64_t inputs, int64_t n, const Compute<T>* d, const View& x,
                     Compute<T>* dw, Store store, std::byte* scratch) {
  using C = Compute<T>;
  if constexpr (std::is_same_v<T, BFloat16>)
    if (bfloat16_products() == BFloat16Products::tiles)
      return gemm_tiles(classes, inputs, n, MatrixRef<C>{d, 1, classes},
                        MatrixRef<T>{x.as<T>(), inputs, 1}, nullptr, dw, inputs, store);
  const View wide = widen(x, scratch);
  gemm<C>(classes, inputs, n, {d, 1, classes}, {wide.as<C>(), inputs, 1}, dw, inputs, store);
}

void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<FusedAttrs>();
  visit_floating(kName, call.in[kX].dtype(), [&]<class T>() {
    using C = Compute<T>;
    std::byte* scratch = call.workspace.data();
    Chunks<T> chunks(call, attrs, true, scratch);
    const int64_t rows = chunks.sizes.rows, inputs = chunks.sizes.inputs,
                  classes = chunks.sizes.classes, step = chunks.sizes.step;
    check_labels("linear_cross_entropy_grad", call.in[kLabels], classes, attrs.loss.ignore_index);
    const View* out = call.out.data();
    const auto next = [&](int i) { return has(attrs.wanted, i) ? out++ : nullptr; };
    const View *dx = next(kX), *dw = next(kW), *db = next(kBias);
    const View dw_wide = dw ? widened_like(*dw, scratch) : View();
    double* sums = reinterpret_cast<double*>(scratch);
    scratch += block_bytes(classes * static_cast<int64_t>(sizeof(double)));
    std::fill_n(sums, classes, 0.0);
    if (dw && rows == 0) std::fill_n(dw_wide.as<C>(), count(dw->shape()), C(0));

    C* d = chunks.logits;  // becomes the gradient of the logits
    const C* dy = call.in[call.in.size() - 2].template as<C>();
    const auto* log_sums = reinterpret_cast<const LogSum<C>*>(call.in.back().template as<C>());
    const C divisor = static_cast<C>(chunks.each.weights.divisor(rows, attrs.loss.reduction));
    const bool none = attrs.loss.reduction == Reduction::none;
    chunks.for_each([&](int64_t first, int64_t n) {
      parallel_for(n, step, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          chunks.each.backward(d + r * classes, first + r, log_sums[first + r],
                               dy[none ? first + r : 0] / divisor, d + r * classes);
      });
      if (dx)
        product(n, inputs, classes, MatrixRef<C>{d, classes, 1}, MatrixRef<T>{chunks.w, inputs, 1},
                static_cast<const T*>(nullptr), dx->as<T>() + first * inputs, chunks.products);
      if (dw) {
        const Store store = first == 0 ? Store::overwrite : Store::accumulate;
        weight_gradient<T>(classes, inputs, n, d, rows_of(call.in[kX], first, n, inputs),
                           dw_wide.as<C>(), store, scratch);
      }
      if (db) add_columns(d, n, classes, sums);
    });
    if (dw) narrow(dw_wide, *dw);
    if (db)
      for (int64_t c = 0; c < classes; ++c)
        db->as<T>()[c] = static_cast<T>(static_cast<C>(sums[c]));
  });
}

// One product forward; backward the logits again and two gradients.
template <int kProducts>
double products_flops(std::span<const Meta> in, std::span<const Meta>, const Attrs&) {
  return 2.0 * kProducts * static_cast<double>(count(in[kX].shape)) *
         static_cast<double>(in[kW].shape[0]);
}

constexpr OpDef grad_op{.name = "linear_cross_entropy_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = linear_cross_entropy_grad_cuda,
                        .workspace = grad_workspace,
                        .flops = products_flops<3>};

std::vector<Tensor> fused_vjp(const Backward& b) {
  FusedAttrs attrs = b.attrs<FusedAttrs>();
  std::vector<Tensor> in, gradients(static_cast<size_t>(b.inputs()));
  for (int i = 0; i < b.inputs(); ++i) {
    in.push_back(b.input(i));
    if (b.needs(i)) attrs.wanted |= bits(i);
  }
  in.push_back(contiguous(b.grad()));
  in.push_back(b.output(1));
  std::vector<Tensor> found = apply(grad_op, in, attrs);
  size_t next = 0;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (has(attrs.wanted, static_cast<int>(i))) gradients[i] = found[next++];
  return gradients;
}

constexpr OpDef fused_op{.name = kName,
                         .infer = fused_infer,
                         .cpu = fused_cpu,
                         .cuda = linear_cross_entropy_cuda,
                         .vjp = {.rule = fused_vjp, .inputs = everything, .outputs = bits(1)},
                         .workspace = fused_workspace,
                         .flops = products_flops<1>};

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& w, const Tensor& bias,
                            const Tensor& labels, const CrossEntropyOptions& options) {
  // Not by the OpDef: the weights of the classes stay in f32.
  const std::vector<Tensor> product = autocast(CastRule::low, {x, w, bias});
  std::vector<Tensor> in{contiguous(product[0]), contiguous(product[1]), contiguous(labels)};
  if (bias.defined()) in.push_back(contiguous(product[2]));
  if (options.weight.defined()) in.push_back(class_weights(options.weight, x));
  return apply(fused_op, in,
               FusedAttrs{.loss = cross_entropy_attrs(kName, options),
                          .has_bias = bias.defined(),
                          .has_weight = options.weight.defined()})[0];
}

extern const std::vector<const OpDef*> linear_cross_entropy_ops{&fused_op, &grad_op};

}  // namespace plimsoll
