#include "ops/loss/linear_cross_entropy/linear_cross_entropy.h"

#include "core/cpu/gemm/gemm.h"
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

int64_t operand_bytes(std::span<const View> in, const FusedAttrs& attrs, const Sizes& sizes) {
  return widened_bytes(in[kW].meta) + (attrs.has_bias ? widened_bytes(in[kBias].meta) : 0) +
         widened_bytes(sizes.x_chunk(in[kX].meta)) +
         block_bytes(bytes_of(sizes.logits(in[kX].meta)));
}

int64_t fused_workspace(const Call& call) {
  if (call.in[kX].device() == Device::cuda)
    return CudaScratch(call.in[kX].meta, call.in[kW].shape(), call.in[kLabels].shape(), false)
        .bytes;
  const Sizes sizes(call.in[kW].shape(), call.in[kLabels].shape());
  return operand_bytes(call.in, call.attrs.as<FusedAttrs>(), sizes) +
         pieces(sizes.rows, sizes.chunk) * sizes.partials() * static_cast<int64_t>(sizeof(double));
}

template <class T>
T* take(std::byte*& scratch, int64_t n) {
  T* taken = reinterpret_cast<T*>(scratch);
  scratch += block_bytes(n * static_cast<int64_t>(sizeof(T)));
  return taken;
}

// Rows first ... first + n - 1 of a tensor seen as a matrix.
View rows_of(const View& all, int64_t first, int64_t n, int64_t width) {
  return {all.as<std::byte>() + first * width * size_of(all.dtype()),
          {{n, width}, all.dtype(), all.meta.device},
          {width, 1}};
}

// The operands in the type C they are computed in, and the logits of one chunk.
template <class C>
struct Chunks {
  Sizes sizes;
  View x_all, w_all, bias_all;
  const C *w, *bias = nullptr;
  C* logits;
  std::byte* x_scratch;
  CrossEntropyRows<C> each;

  Chunks(const Call& call, const FusedAttrs& attrs, std::byte*& scratch)
      : sizes(call.in[kW].shape(), call.in[kLabels].shape()),
        x_all(call.in[kX]),
        w_all(widen(call.in[kW], scratch)),
        w(w_all.as<C>()),
        each(call.in[kLabels], attrs.has_weight ? &call.in[kBias + attrs.has_bias] : nullptr,
             sizes.classes, attrs.loss) {
    if (attrs.has_bias) {
      bias_all = widen(call.in[kBias], scratch);
      bias = bias_all.as<C>();
    }
    logits = take<C>(scratch, sizes.chunk * sizes.classes);
    x_scratch = scratch;
    scratch += widened_bytes(sizes.x_chunk(x_all.meta));
  }

  // f(first, n, x) for every chunk of n rows from `first`, in order, with its logits computed.
  template <class F>
  void for_each(const F& f) {
    const int64_t classes = sizes.classes, inputs = sizes.inputs;
    for (int64_t first = 0; first < sizes.rows; first += sizes.chunk) {
      const int64_t n = std::min(sizes.chunk, sizes.rows - first);
      std::byte* scratch = x_scratch;
      const C* x = widen(rows_of(x_all, first, n, inputs), scratch).template as<C>();
      if (bias)
        parallel_for(n, grain_for(classes), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) std::copy_n(bias, classes, logits + r * classes);
        });
      gemm<C>(n, classes, inputs, {x, inputs, 1}, {w, 1, inputs}, logits, classes,
              bias ? Store::accumulate : Store::overwrite);
      f(first, n, x);
    }
  }
};

// Calls f with a number of the type that the tensors are computed in.
template <class F>
void visit_compute(DType dtype, const F& f) {
  dtype == DType::f64 ? f(double()) : f(float());
}

void fused_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<FusedAttrs>();
  visit_compute(call.in[kX].dtype(), [&]<class C>(C) {
    std::byte* scratch = call.workspace.data();
    Chunks<C> chunks(call, attrs, scratch);
    const Sizes& sizes = chunks.sizes;
    check_labels(kName, call.in[kLabels], sizes.classes, attrs.loss.ignore_index);
    double* partial = reinterpret_cast<double*>(scratch);
    double* next = partial;
    C* y = call.out[0].as<C>();
    auto* log_sums = reinterpret_cast<LogSum<C>*>(call.out[1].as<C>());
    const bool none = attrs.loss.reduction == Reduction::none;
    chunks.for_each([&](int64_t first, int64_t n, const C*) {
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
  return operand_bytes(call.in, call.attrs.as<FusedAttrs>(), sizes) +
         block_bytes(sizes.classes * static_cast<int64_t>(sizeof(double))) +
         widened_bytes(call.in[kW].meta) + widened_bytes(sizes.x_chunk(call.in[kX].meta));
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

void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<FusedAttrs>();
  visit_compute(call.in[kX].dtype(), [&]<class C>(C) {
    std::byte* scratch = call.workspace.data();
    Chunks<C> chunks(call, attrs, scratch);
    const int64_t rows = chunks.sizes.rows, inputs = chunks.sizes.inputs,
                  classes = chunks.sizes.classes, step = chunks.sizes.step;
    check_labels("linear_cross_entropy_grad", call.in[kLabels], classes, attrs.loss.ignore_index);
    const View* out = call.out.data();
    const auto next = [&](int i) { return has(attrs.wanted, i) ? out++ : nullptr; };
    const View *dx = next(kX), *dw = next(kW), *db = next(kBias);
    const View dw_wide = dw ? widened_like(*dw, scratch) : View();
    double* sums = take<double>(scratch, classes);
    std::fill_n(sums, classes, 0.0);
    if (dw && rows == 0) std::fill_n(dw_wide.as<C>(), count(dw->shape()), C(0));

    C* d = chunks.logits;  // becomes the gradient of the logits
    const C* dy = call.in[call.in.size() - 2].template as<C>();
    const auto* log_sums = reinterpret_cast<const LogSum<C>*>(call.in.back().template as<C>());
    const C divisor = static_cast<C>(chunks.each.weights.divisor(rows, attrs.loss.reduction));
    const bool none = attrs.loss.reduction == Reduction::none;
    chunks.for_each([&](int64_t first, int64_t n, const C* x) {
      parallel_for(n, step, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          chunks.each.backward(d + r * classes, first + r, log_sums[first + r],
                               dy[none ? first + r : 0] / divisor, d + r * classes);
      });
      if (dx) {
        const View part = rows_of(*dx, first, n, inputs);
        std::byte* rest = scratch;
        const View wide = widened_like(part, rest);
        gemm<C>(n, inputs, classes, {d, classes, 1}, {chunks.w, inputs, 1}, wide.as<C>(), inputs);
        narrow(wide, part);
      }
      if (dw)
        gemm<C>(classes, inputs, n, {d, 1, classes}, {x, inputs, 1}, dw_wide.as<C>(), inputs,
                first == 0 ? Store::overwrite : Store::accumulate);
      if (db) add_columns(d, n, classes, sums);
    });
    if (dw) narrow(dw_wide, *dw);
    if (db)
      visit_floating(kName, db->dtype(), [&]<class T>() {
        for (int64_t c = 0; c < classes; ++c)
          db->as<T>()[c] = static_cast<T>(static_cast<C>(sums[c]));
      });
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
