#include "core/engine/op.h"
#include "ops/loss/cross_entropy/rows.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

void bad_label(int64_t position, int64_t label, int64_t limit) {
  cuda::throw_bad_label("cross_entropy", position, label, limit);
}
void bad_label_grad(int64_t position, int64_t label, int64_t limit) {
  cuda::throw_bad_label("cross_entropy_grad", position, label, limit);
}

}  // namespace

void cross_entropy_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<CrossEntropyAttrs>();
  const View &x = call.in[0], &labels = call.in[1];
  const int64_t n = x.shape().back();
  const bool none = attrs.reduction == Reduction::none, mean = attrs.reduction == Reduction::mean;
  auto* losses = reinterpret_cast<double*>(call.workspace.data());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const ClassRows<C> rows(labels, call.in.size() == 3 ? &call.in[2] : nullptr, n,
                            attrs.ignore_index, bad_label);
    C* y = call.out[0].as<C>();
    if (rows.count > 0)
      launch(cross_entropy_kernel<C>, rows.count, row_threads(packs_in(n) + 1), elements<C>(x), n,
             rows, Smoothing<C>(attrs.label_smoothing, n), 0, losses, none ? y : nullptr,
             reinterpret_cast<LogSum<C>*>(call.out[1].as<C>()));
    if (!none) launch(reduce_losses_kernel<C>, 1, kReduceThreads, rows, losses, mean, y);
  });
}

void cross_entropy_grad_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<CrossEntropyAttrs>();
  const View &x = call.in[1], &labels = call.in[2], &dx = call.out[0];
  const int64_t n = x.shape().back();
  auto* divisor = reinterpret_cast<double*>(call.workspace.data());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const ClassRows<C> rows(labels, call.in.size() == 5 ? &call.in[4] : nullptr, n,
                            attrs.ignore_index, bad_label_grad);
    launch(divisor_kernel<C>, 1, kReduceThreads, rows, attrs.reduction == Reduction::mean, divisor);
    launch(cross_entropy_grad_kernel<C>, rows.count, row_threads(packs_in(n) + 1),
           call.in[0].as<C>(), attrs.reduction == Reduction::none, elements<C>(x), rows,
           Smoothing<C>(attrs.label_smoothing, n),
           reinterpret_cast<const LogSum<C>*>(call.in[3].as<C>()), divisor, elements<C>(dx), n, 0);
  });
}

}  // namespace plimsoll
