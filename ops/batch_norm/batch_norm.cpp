#include "ops/batch_norm/batch_norm.h"

#include "core/apply.h"
#include "core/cuda_kernel.h"
#include "ops/arithmetic/arithmetic.h"
#include "ops/batch_norm/kernels.h"
#include "ops/column_packs.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"
#include "ops/math/math.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(batch_norm_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_grad_cuda);
PLIMSOLL_CUDA_KERNEL(update_running_stats_cuda);

namespace batch_norm_detail {

namespace {
DType statistics_dtype(DType x) { return x == DType::f64 ? DType::f64 : DType::f32; }
}  // namespace

void check_channels(const char* name, std::span<const Meta> in) {
  const Meta& x = in[0];
  check<DTypeError>(is_floating(x.dtype), name, ": a floating type is needed: got ", x,
                    ". Cast it first.");
  check<ShapeError>(x.shape.rank() >= 1 && count(x.shape) > 0, name,
                    ": there are no elements to normalise: ", x.shape,
                    ". Pass at least one position with one channel.");
  for (const Meta& v : in.subspan(1)) {
    check<ShapeError>(v.shape == Shape{x.shape.back()}, name, ": the channels differ: ", v.shape,
                      " for an input of ", x.shape, ". Use vectors of the last axis' size.");
    check<DTypeError>(v.dtype == statistics_dtype(x.dtype), name,
                      ": parameters and statistics of the wrong type: ", v.dtype,
                      " for an input of ", x.dtype, ". Keep them in ", statistics_dtype(x.dtype),
                      ".");
  }
}

int64_t workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) {
    const auto [rows, channels] = rows_of(call.in[0].shape());
    return cuda::PackCut(rows, channels, call.in[0].dtype()).sums_bytes(2);
  }
  return scratch_bytes(call.in[0].shape());
}

}  // namespace batch_norm_detail

namespace {

using namespace batch_norm_detail;

Metas batch_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_channels("batch_norm", in);
  check_eps("batch_norm", attrs.as<BatchNormAttrs>().eps);
  return {in[0], in[1], in[1], in[1], in[1]};
}

void batch_norm_cpu(const Call& call) { forward(call, call.attrs.as<BatchNormAttrs>().eps); }

Metas batch_norm_grad_infer(std::span<const Meta> in, const Attrs&) {
  return {in[0], in[2], in[2]};
}

constexpr OpDef batch_norm_grad_op{.name = "batch_norm_grad",
                                   .infer = batch_norm_grad_infer,
                                   .cpu = backward,
                                   .cuda = batch_norm_grad_cuda,
                                   .inplace = 0,
                                   .workspace = workspace};

std::vector<Tensor> batch_norm_vjp(const Backward& b) {
  return apply(batch_norm_grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1),
                                    b.output(3), b.output(4)});
}

// Only y is ever differentiated: the public function takes the statistics off the tape.
constexpr OpDef batch_norm_op{.name = "batch_norm",
                              .infer = batch_norm_infer,
                              .cpu = batch_norm_cpu,
                              .cuda = batch_norm_cuda,
                              .vjp = batch_norm_vjp,
                              .saves = {.inputs = bits(0, 1), .outputs = bits(1, 3, 4)},
                              .workspace = workspace};

Metas running_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [momentum, n] = attrs.as<RunningAttrs>();
  check<ValueError>(momentum >= 0 && momentum <= 1 && n >= 1,
                    "update_running_stats: momentum must be in [0, 1] and n at least 1: momentum ",
                    momentum, ", n ", n, ". Use 0.1 and the number of positions.");
  for (const Meta& meta : in)
    check<ShapeError>(meta == in[0], "update_running_stats: the statistics do not match: ", in[0],
                      " and ", meta, ". Use the same shape and type for all four.");
  return {};
}

void running_cpu(const Call& call) {
  const double momentum = call.attrs.as<RunningAttrs>().momentum;
  const int64_t n = call.attrs.as<RunningAttrs>().n;
  const double unbiased = n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
  visit_floating("update_running_stats", call.in[0].dtype(), [&]<class T>() {
    const auto blend = [&](const View& running, const View& now, double scale) {
      for (int64_t c = 0; c < count(running.shape()); ++c) {
        const auto old = static_cast<double>(running.as<T>()[c]);
        const double fresh = static_cast<double>(now.as<T>()[c]) * scale;
        running.as<T>()[c] =
            static_cast<T>(static_cast<Compute<T>>((1 - momentum) * old + momentum * fresh));
      }
    };
    blend(call.in[0], call.in[2], 1);
    blend(call.in[1], call.in[3], unbiased);
  });
}

constexpr OpDef running_op{.name = "update_running_stats",
                           .infer = running_infer,
                           .cpu = running_cpu,
                           .cuda = update_running_stats_cuda,
                           .mutates = bits(0, 1)};

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  const std::vector<Tensor> out = apply(
      batch_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)}, BatchNormAttrs{eps});
  return {out[0], out[1].detach(), out[2].detach()};
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const Tensor& running_mean, const Tensor& running_variance,
                            double eps) {
  for (const Tensor& given : {x, gamma, beta, running_mean, running_variance})
    check_defined("batch_norm_inference", given);
  const std::array metas{x.meta(), gamma.meta(), beta.meta(), running_mean.meta(),
                         running_variance.meta()};
  check_channels("batch_norm_inference", metas);
  check_eps("batch_norm_inference", eps);
  const Tensor scale = gamma / sqrt(running_variance + eps);
  const Tensor wide = cast(x, gamma.dtype());
  return cast((wide - running_mean) * scale + beta, x.dtype());
}

void update_running_stats(const Tensor& running_mean, const Tensor& running_variance,
                          const Tensor& mean, const Tensor& variance, double momentum, int64_t n) {
  apply(running_op, {running_mean, running_variance, contiguous(mean), contiguous(variance)},
        RunningAttrs{momentum, n});
}

extern const std::vector<const OpDef*> batch_norm_ops;
const std::vector<const OpDef*> batch_norm_ops{&batch_norm_op, &batch_norm_grad_op, &running_op};

}  // namespace plimsoll
