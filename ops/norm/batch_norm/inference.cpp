// Batch normalisation with given statistics: one pass over memory.
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/pointwise.h"
#include "ops/norm/batch_norm/batch_norm.h"
#include "ops/norm/batch_norm/normalise.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/math/math.h"
#include "ops/pointwise/relu/formulas.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(batch_norm_inference_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_inference_relu_cuda);

namespace {

using namespace batch_norm_detail;

// Inputs: x, gamma, beta, mean, variance. Output: y.
Metas inference_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_channels("batch_norm_inference", in);
  check_eps("batch_norm_inference", attrs.as<BatchNormAttrs>().eps);
  return {in[0]};
}

// The inverse standard deviations, and zeros: given means have no tail.
int64_t inference_workspace(const Call& call) {
  const View& variance = call.in[4];
  return 2 * count(variance.shape()) * size_of(variance.dtype());
}

template <bool relu>
void inference_cpu(const Call& call) {
  const double eps = call.attrs.as<BatchNormAttrs>().eps;
  const Rows r = rows_of(call.in[0].shape());
  visit_floating("batch_norm_inference", call.in[0].dtype(), [&]<class T>() {
    using S = Compute<T>;
    const S *gamma = call.in[1].as<S>(), *beta = call.in[2].as<S>();
    const S *mean = call.in[3].as<S>(), *variance = call.in[4].as<S>();
    S *inverse = reinterpret_cast<S*>(call.workspace.data()), *tail = inverse + r.channels;
    for (int64_t c = 0; c < r.channels; ++c) {
      inverse[c] = static_cast<S>(1 / std::sqrt(static_cast<double>(variance[c]) + eps));
      tail[c] = 0;
    }
    normalise_rows<T, relu>(call.in[0].as<T>(), call.out[0].as<T>(), r,
                            {mean, tail, inverse, gamma, beta});
  });
}

// Rarely wanted, when layers are trained whose norms are not, so it is written with other ops. With
// n = (x - mean) inverse: dbeta = sum dy, dgamma = sum dy n, dx = gamma inverse dy,
// dmean = -gamma inverse dbeta, dvariance = -gamma inverse^2 dgamma / 2.
std::vector<Tensor> inference_vjp(const Backward& b) {
  const Tensor x = b.input(0), gamma = b.input(1), mean = b.input(3);
  const Tensor inverse = rsqrt(b.input(4) + b.attrs<BatchNormAttrs>().eps);
  const Tensor scale = gamma * inverse, dy = cast(b.grad(), gamma.dtype());
  Tensor dx, dgamma, dbeta, dmean, dvariance;
  if (b.needs(0)) dx = cast(dy * scale, x.dtype());
  if (b.needs(2) || b.needs(3)) dbeta = sum_to(dy, gamma.shape());
  if (b.needs(3)) dmean = -(scale * dbeta);
  if (b.needs(1) || b.needs(4))
    dgamma = sum_to(dy * (cast(x, gamma.dtype()) - mean), gamma.shape()) * inverse;
  if (b.needs(4)) dvariance = scale * inverse * dgamma * -0.5;
  return {dx, dgamma, dbeta, dmean, dvariance};
}

}  // namespace

constexpr OpDef batch_norm_detail::inference_op{
    .name = "batch_norm_inference",
    .infer = inference_infer,
    .cpu = inference_cpu<false>,
    .cuda = batch_norm_inference_cuda,
    .vjp = {.rule = inference_vjp, .inputs = bits(0, 1, 3, 4)},
    .inplace = 0,
    .workspace = inference_workspace,
    .with_relu = &inference_with_relu};
constexpr OpDef batch_norm_detail::inference_relu_op{.name = "batch_norm_inference_relu",
                                                     .infer = inference_infer,
                                                     .cpu = inference_cpu<true>,
                                                     .cuda = batch_norm_inference_relu_cuda,
                                                     .inplace = 0,
                                                     .workspace = inference_workspace};

// Its gradient has no kernel that could take relu's along.
const WithRelu batch_norm_detail::inference_with_relu{.op = &inference_op,
                                                      .grad = nullptr,
                                                      .relu = &Unary<formulas::Relu>::op,
                                                      .relu_grad = nullptr,
                                                      .both = &inference_relu_op,
                                                      .both_grad = nullptr,
                                                      .extra = 0};

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const Tensor& running_mean, const Tensor& running_variance,
                            double eps) {
  std::vector<Tensor> inputs{x, gamma, beta, running_mean, running_variance};
  for (Tensor& given : inputs) {
    check_defined("batch_norm_inference", given);
    given = contiguous(given);
  }
  return apply(inference_op, inputs, BatchNormAttrs{eps})[0];
}

}  // namespace plimsoll
