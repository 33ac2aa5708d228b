#include "core/engine/op.h"
#include "ops/loss/common/class_loss.cuh"
#include "ops/loss/nll_loss/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

// losses[row] in double for their sum, and each[row] unless `each` is nullptr.
template <class C>
__global__ void nll_kernel(Elements<C> x, ClassRows<C> rows, double* losses, C* each) {
  for (int64_t row = first_index(); row < rows.count; row += total_threads()) {
    const int64_t label = rows.label_of(row);
    const double loss =
        label < 0 ? 0
                  : static_cast<double>(-rows.weight_of(label) * x.get(row * rows.classes + label));
    losses[row] = loss;
    if (each) each[row] = static_cast<C>(loss);
  }
}

template <class C>
__global__ void nll_grad_kernel(const C* dy, bool each, ClassRows<C> rows, const double* divisor,
                                Elements<C> dx) {
  const int64_t row = blockIdx.x, label = rows.label_of(row);
  const C at_label = -rows.weight_of(label) * (dy[each ? row : 0] / static_cast<C>(*divisor));
  for (int64_t c = threadIdx.x; c < rows.classes; c += blockDim.x)
    dx.set(row * rows.classes + c, c == label ? at_label : C(0));
}

void bad_label(int64_t position, int64_t label, int64_t limit) {
  cuda::throw_bad_label("nll_loss", position, label, limit);
}
void bad_label_grad(int64_t position, int64_t label, int64_t limit) {
  cuda::throw_bad_label("nll_loss_grad", position, label, limit);
}

}  // namespace

void nll_loss_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<NllAttrs>();
  const View &x = call.in[0], &labels = call.in[1];
  const bool none = attrs.reduction == Reduction::none, mean = attrs.reduction == Reduction::mean;
  auto* losses = reinterpret_cast<double*>(call.workspace.data());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const ClassRows<C> rows(labels, call.in.size() == 3 ? &call.in[2] : nullptr, x.shape().back(),
                            attrs.ignore_index, bad_label);
    C* y = call.out[0].as<C>();
    launch(nll_kernel<C>, blocks_for(rows.count), kThreads, elements<C>(x), rows, losses,
           none ? y : nullptr);
    if (!none) launch(reduce_losses_kernel<C>, 1, kReduceThreads, rows, losses, mean, y);
  });
}

void nll_loss_grad_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<NllAttrs>();
  const View &labels = call.in[1], &dx = call.out[0];
  const int64_t n = dx.shape().back();
  auto* divisor = reinterpret_cast<double*>(call.workspace.data());
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    const ClassRows<C> rows(labels, call.in.size() == 3 ? &call.in[2] : nullptr, n,
                            attrs.ignore_index, bad_label_grad);
    launch(divisor_kernel<C>, 1, kReduceThreads, rows, attrs.reduction == Reduction::mean, divisor);
    launch(nll_grad_kernel<C>, rows.count, row_threads(n), call.in[0].as<C>(),
           attrs.reduction == Reduction::none, rows, divisor, elements<C>(dx));
  });
}

}  // namespace plimsoll
