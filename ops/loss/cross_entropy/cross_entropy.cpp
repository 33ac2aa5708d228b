#include "ops/loss/cross_entropy/cross_entropy.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/loss/cross_entropy/rows.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(cross_entropy_cuda);
PLIMSOLL_CUDA_KERNEL(cross_entropy_grad_cuda);

CrossEntropyAttrs cross_entropy_attrs(const char* op, const CrossEntropyOptions& options) {
  const double e = options.label_smoothing;
  check<ValueError>(e >= 0 && e <= 1, op, ": label_smoothing is not from 0 to 1: ", e,
                    ". Use 0.1 or so.");
  return {options.ignore_index, e, options.reduction};
}

Meta log_sums_of(const Meta& labels, DType logits) {
  Shape shape = labels.shape;
  shape.push_back(2);
  return {shape, compute_dtype(logits), labels.device};
}

namespace {

// Inputs: logits [..., C], labels [...], perhaps weights [C]. Outputs: the loss and
// the LogSum of each row [..., 2].
Metas cross_entropy_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_classes("cross_entropy", "logits", in[0], in[1], in.size() == 3 ? &in[2] : nullptr);
  return {losses_of(in[1], in[0].dtype, attrs.as<CrossEntropyAttrs>().reduction),
          log_sums_of(in[1], in[0].dtype)};
}

int64_t rows_per_piece(int64_t classes) { return grain_for(4 * classes); }

int64_t cross_entropy_workspace(const Call& call) {
  return losses_bytes(call.in[1], rows_per_piece(call.in[0].shape().back()));
}

void cross_entropy_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<CrossEntropyAttrs>();
  const int64_t n = call.in[0].shape().back(), rows = count(call.in[1].shape());
  check_labels("cross_entropy", call.in[1], n, attrs.ignore_index);
  double* partial = reinterpret_cast<double*>(call.workspace.data());
  visit_floating("cross_entropy", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const CrossEntropyRows<C> each(call.in[1], call.in.size() == 3 ? &call.in[2] : nullptr, n,
                                   attrs);
    const T* x = call.in[0].as<T>();
    C* y = call.out[0].as<C>();
    auto* log_sums = reinterpret_cast<LogSum<C>*>(call.out[1].as<C>());
    write_losses(each.weights, rows, rows_per_piece(n), attrs.reduction, partial, y,
                 [&](int64_t row) {
                   const auto result = each.forward(x + row * n, row);
                   log_sums[row] = result.log_sum;
                   return result.loss;
                 });
  });
}

// Inputs: dy, logits, labels, LogSum, perhaps weights. Output: the gradient of the logits.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1]}; }

void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<CrossEntropyAttrs>();
  const int64_t n = call.in[1].shape().back(), rows = count(call.in[2].shape());
  check_labels("cross_entropy_grad", call.in[2], n, attrs.ignore_index);
  visit_floating("cross_entropy_grad", call.in[1].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const CrossEntropyRows<C> each(call.in[2], call.in.size() == 5 ? &call.in[4] : nullptr, n,
                                   attrs);
    const C* dy = call.in[0].as<C>();
    const T* x = call.in[1].as<T>();
    const auto* log_sums = reinterpret_cast<const LogSum<C>*>(call.in[3].as<C>());
    T* dx = call.out[0].as<T>();
    const C divisor = static_cast<C>(each.weights.divisor(rows, attrs.reduction));
    const bool none = attrs.reduction == Reduction::none;
    parallel_for(rows, rows_per_piece(n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        each.backward(x + row * n, row, log_sums[row], dy[none ? row : 0] / divisor, dx + row * n);
    });
  });
}

constexpr OpDef grad_op{.name = "cross_entropy_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = cross_entropy_grad_cuda,
                        .inplace = 1,
                        .workspace = divisor_workspace};

std::vector<Tensor> cross_entropy_vjp(const Backward& b) {
  std::vector<Tensor> in{contiguous(b.grad()), b.input(0), b.input(1), b.output(1)};
  if (b.inputs() == 3) in.push_back(b.input(2));
  std::vector<Tensor> gradients(static_cast<size_t>(b.inputs()));
  gradients[0] = apply(grad_op, in, b.attrs<CrossEntropyAttrs>())[0];
  return gradients;
}

constexpr OpDef cross_entropy_op{
    .name = "cross_entropy",
    .infer = cross_entropy_infer,
    .cpu = cross_entropy_cpu,
    .cuda = cross_entropy_cuda,
    .vjp = {.rule = cross_entropy_vjp, .inputs = bits(0, 1, 2), .outputs = bits(1)},
    .workspace = cross_entropy_workspace};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     const CrossEntropyOptions& options) {
  std::vector<Tensor> in{contiguous(logits), contiguous(labels)};
  if (options.weight.defined()) in.push_back(class_weights(options.weight, logits));
  return apply(cross_entropy_op, in, cross_entropy_attrs("cross_entropy", options))[0];
}

extern const std::vector<const OpDef*> cross_entropy_ops{&cross_entropy_op, &grad_op};

}  // namespace plimsoll
