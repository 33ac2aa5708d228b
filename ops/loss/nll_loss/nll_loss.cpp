#include "ops/loss/nll_loss/nll_loss.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/loss/common/class_loss.h"
#include "ops/loss/nll_loss/attrs.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(nll_loss_cuda);
PLIMSOLL_CUDA_KERNEL(nll_loss_grad_cuda);
namespace {

// Inputs: log_p, labels and, where there are any, the weights.
Metas nll_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_classes("nll_loss", "log-probabilities", in[0], in[1], in.size() == 3 ? &in[2] : nullptr);
  return {losses_of(in[1], in[0].dtype, attrs.as<NllAttrs>().reduction)};
}

int64_t rows_per_piece() { return grain_for(16); }  // a row is one look far away

int64_t nll_workspace(const Call& call) { return losses_bytes(call.in[1], rows_per_piece()); }

void nll_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<NllAttrs>();
  const int64_t n = call.in[0].shape().back(), rows = count(call.in[1].shape());
  check_labels("nll_loss", call.in[1], n, attrs.ignore_index);
  double* partial = reinterpret_cast<double*>(call.workspace.data());
  visit_floating("nll_loss", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const RowWeights<C> weights(call.in[1], call.in.size() == 3 ? &call.in[2] : nullptr,
                                attrs.ignore_index);
    const T* x = call.in[0].as<T>();
    C* y = call.out[0].as<C>();
    write_losses(weights, rows, rows_per_piece(), attrs.reduction, partial, y, [&](int64_t row) {
      if (!weights.counts(row)) return 0.0;
      return static_cast<double>(-weights(row) * static_cast<C>(x[row * n + weights.label[row]]));
    });
  });
}

// Inputs: dy, labels and weights. Output: the gradient of log_p.
Metas grad_infer(std::span<const Meta>, const Attrs& attrs) { return {attrs.as<NllAttrs>().log_p}; }

void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<NllAttrs>();
  const int64_t n = call.out[0].shape().back(), rows = count(call.in[1].shape());
  check_labels("nll_loss_grad", call.in[1], n, attrs.ignore_index);
  visit_floating("nll_loss_grad", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const RowWeights<C> weights(call.in[1], call.in.size() == 3 ? &call.in[2] : nullptr,
                                attrs.ignore_index);
    const C* dy = call.in[0].as<C>();
    T* dx = call.out[0].as<T>();
    const C divisor = static_cast<C>(weights.divisor(rows, attrs.reduction));
    const bool none = attrs.reduction == Reduction::none;
    parallel_for(rows, grain_for(n), [&](int64_t begin, int64_t end) {
      std::fill(dx + begin * n, dx + end * n, T(0));
      for (int64_t row = begin; row < end; ++row)
        if (weights.counts(row))
          dx[row * n + weights.label[row]] =
              static_cast<T>(-weights(row) * (dy[none ? row : 0] / divisor));
    });
  });
}

constexpr OpDef grad_op{.name = "nll_loss_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = nll_loss_grad_cuda,
                        .workspace = divisor_workspace};

std::vector<Tensor> nll_vjp(const Backward& b) {
  std::vector<Tensor> in{contiguous(b.grad()), b.input(1)};
  if (b.inputs() == 3) in.push_back(b.input(2));
  std::vector<Tensor> gradients(static_cast<size_t>(b.inputs()));
  gradients[0] = apply(grad_op, in, b.attrs<NllAttrs>())[0];
  return gradients;
}

constexpr OpDef nll_op{.name = "nll_loss",
                       .infer = nll_infer,
                       .cpu = nll_cpu,
                       .cuda = nll_loss_cuda,
                       .vjp = {.rule = nll_vjp, .inputs = bits(1, 2)},
                       .workspace = nll_workspace};

}  // namespace

Tensor nll_loss(const Tensor& log_p, const Tensor& labels, const NllOptions& options) {
  std::vector<Tensor> in{contiguous(log_p), contiguous(labels)};
  if (options.weight.defined()) in.push_back(class_weights(options.weight, log_p));
  return apply(nll_op, in, NllAttrs{options.ignore_index, options.reduction, log_p.meta()})[0];
}

extern const std::vector<const OpDef*> nll_loss_ops{&nll_op, &grad_op};

}  // namespace plimsoll
