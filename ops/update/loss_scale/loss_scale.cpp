#include "ops/update/loss_scale/loss_scale.h"

#include <atomic>
#include <limits>

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"
#include "ops/common/widened.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(nonfinite_cuda);
PLIMSOLL_CUDA_KERNEL(unscale_cuda);
PLIMSOLL_CUDA_KERNEL(update_loss_scale_cuda);

namespace {

Metas nonfinite_infer(std::span<const Meta> in, const Attrs&) {
  for (size_t i = 0; i < in.size(); ++i)
    check<DTypeError>(is_floating(in[i].dtype), "nonfinite: a floating type is needed: tensor ", i,
                      " is ", in[i], ". Cast it first.");
  return {{{}, DType::boolean, in[0].device}};
}

// x - x is 0 for finite numbers and NaN for all others; a sum of those cannot cancel.
template <class T>
bool any_nonfinite(const View& x) {
  using C = Compute<T>;
  const T* values = x.as<T>();
  std::atomic<bool> found = false;
  parallel_for(count(x.shape()), grain_for(1), [&](int64_t begin, int64_t end) {
    C total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = begin; i < end; ++i) {
      const C v = static_cast<C>(values[i]);
      total += v - v;
    }
    if (total != 0) found = true;  // NaN is unequal to everything
  });
  return found;
}

void nonfinite_cpu(const Call& call) {
  bool found = false;
  for (const View& x : call.in)
    found = found ||
            visit_floating("nonfinite", x.dtype(), [&]<class T>() { return any_nonfinite<T>(x); });
  *call.out[0].as<bool>() = found;
}

constexpr OpDef nonfinite_op{.name = "nonfinite",
                             .infer = nonfinite_infer,
                             .cpu = nonfinite_cpu,
                             .cuda = nonfinite_cuda,
                             .widens = everything};

Metas unscale_infer(std::span<const Meta> in, const Attrs&) {
  check_floating("unscale", in[0]);
  check_scalar("unscale", "scale", in[1]);
  return {in[0]};
}

void unscale_cpu(const Call& call) {
  visit_floating("unscale", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const C scale = static_cast<C>(read_scalar(call.in[1]));
    T* y = call.out[0].as<T>();
    visit_widened<T>(call.in[0].dtype(), [&]<class X>() {
      const X* x = call.in[0].as<X>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) y[i] = narrow<T>(static_cast<C>(x[i]) / scale);
      });
    });
  });
}

constexpr OpDef unscale_op{.name = "unscale",
                           .infer = unscale_infer,
                           .cpu = unscale_cpu,
                           .cuda = unscale_cuda,
                           .inplace = 0,
                           .widens = bits(0)};

constexpr const char* kUpdate = "update_loss_scale";

Metas update_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_scalar(kUpdate, "scale", in[0]);
  check<DTypeError>(in[0].dtype == DType::f32, kUpdate, ": the scale must be f32: got ", in[0],
                    ". Use full({}, 65536).");
  check_counter(kUpdate, in[1]);
  check_skip(kUpdate, in[2]);
  check_options(kUpdate, attrs.as<LossScaleUpdate>());
  return {};
}

void update_cpu(const Call& call) {
  const auto& options = call.attrs.as<LossScaleUpdate>();
  float& scale = *call.in[0].as<float>();
  int64_t& good = *call.in[1].as<int64_t>();
  if (*call.in[2].as<bool>()) {
    const auto lower = static_cast<float>(scale * options.backoff);
    if (lower >= std::numeric_limits<float>::min()) scale = lower;
    good = 0;
  } else if (++good >= options.interval) {
    const auto higher = static_cast<float>(scale * options.growth);
    if (higher <= std::numeric_limits<float>::max()) scale = higher;
    good = 0;
  }
}

constexpr OpDef update_op{.name = kUpdate,
                          .infer = update_infer,
                          .cpu = update_cpu,
                          .cuda = update_loss_scale_cuda,
                          .mutates = bits(0, 1)};

}  // namespace

Tensor nonfinite(std::span<const Tensor> tensors) {
  check<ShapeError>(!tensors.empty(),
                    "nonfinite: there is no tensor: 0 were given. Pass at least one.");
  std::vector<Tensor> dense;
  for (const Tensor& tensor : tensors) dense.push_back(contiguous(tensor));
  return std::move(plimsoll::apply(nonfinite_op, dense).front());  // not std::apply
}

Tensor unscale(const Tensor& x, const Tensor& scale) {
  return apply1(unscale_op, {contiguous(x), scale});
}

void update_loss_scale(const Tensor& scale, const Tensor& good_steps, const Tensor& skip,
                       const LossScaleUpdate& options) {
  apply(update_op, {scale, good_steps, skip}, options);
}

void check_options(const char* op, const LossScaleUpdate& o) {
  check<ValueError>(std::isfinite(o.growth) && o.growth >= 1 && o.backoff > 0 && o.backoff <= 1 &&
                        o.interval >= 1,
                    op, ": a number is out of range: growth ", o.growth, ", backoff ", o.backoff,
                    ", interval ", o.interval, ". Use 2, 0.5 and 2000 or so.");
}

extern const std::vector<const OpDef*> loss_scale_ops{&nonfinite_op, &unscale_op, &update_op};

}  // namespace plimsoll
