#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/norm/batch_norm/attrs.h"
#include "ops/norm/batch_norm/batch_norm.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(update_running_stats_cuda);

namespace {

using namespace batch_norm_detail;

Metas running_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [momentum, n] = attrs.as<RunningAttrs>();
  check<ValueError>(momentum >= 0 && momentum <= 1 && n >= 1,
                    "update_running_stats: momentum must be in [0, 1] and n at least 1: momentum ",
                    momentum, ", n ", n, ". Use 0.1 and the number of positions.");
  check_floating("update_running_stats", in[0]);
  const auto check_like = [&](const Meta& meta, bool fits) {
    check<ShapeError>(fits, "update_running_stats: the statistics do not match: ", in[0], " and ",
                      meta, ". Use the same shape and type for all four.");
  };
  check_like(in[1], in[1] == in[0]);
  Meta one = in[2];
  if (in[2].shape.rank() > in[0].shape.rank()) {
    one.shape = {};
    for (int axis = 1; axis < in[2].shape.rank(); ++axis) one.shape.push_back(in[2].shape[axis]);
  }
  check_like(in[2], one == in[0]);
  check_like(in[3], in[3] == in[2]);
  if (in.size() > 4)
    check<DTypeError>(in[4] == Meta{{}, DType::i64, in[0].device},
                      "update_running_stats: the number of batches is no scalar of i64: got ",
                      in[4], ". Leave it out to take all.");
  return {};
}

void running_cpu(const Call& call) {
  const double momentum = call.attrs.as<RunningAttrs>().momentum;
  const int64_t n = call.attrs.as<RunningAttrs>().n;
  const double unbiased = n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
  const int64_t channels = count(call.in[0].shape());
  const int64_t all = channels == 0 ? 0 : count(call.in[2].shape()) / channels;
  const int64_t batches = call.in.size() > 4 ? std::min(*call.in[4].as<int64_t>(), all) : all;
  visit_floating("update_running_stats", call.in[0].dtype(), [&]<class T>() {
    const auto blend = [&](const View& running, const View& now, double scale) {
      for (int64_t i = 0; i < batches * channels; ++i) {
        const int64_t c = i % channels;
        const auto old = static_cast<double>(running.as<T>()[c]);
        const double fresh = static_cast<double>(now.as<T>()[i]) * scale;
        running.as<T>()[c] =
            static_cast<T>(static_cast<Compute<T>>((1 - momentum) * old + momentum * fresh));
      }
    };
    blend(call.in[0], call.in[2], 1);
    blend(call.in[1], call.in[3], unbiased);
  });
}

}  // namespace

constexpr OpDef batch_norm_detail::running_stats_op{.name = "update_running_stats",
                                                    .infer = running_infer,
                                                    .cpu = running_cpu,
                                                    .cuda = update_running_stats_cuda,
                                                    .mutates = bits(0, 1)};

void update_running_stats(const Tensor& running_mean, const Tensor& running_variance,
                          const Tensor& mean, const Tensor& variance, double momentum, int64_t n,
                          const Tensor& batches) {
  std::vector<Tensor> inputs{running_mean, running_variance, contiguous(mean),
                             contiguous(variance)};
  if (batches.defined()) inputs.push_back(batches);
  apply(running_stats_op, inputs, RunningAttrs{momentum, n});
}

}  // namespace plimsoll
