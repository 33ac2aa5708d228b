#include "ops/update/increment/increment.h"

#include <limits>

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/update.h"
#include "ops/update/increment/rate_at_step.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(increment_cuda);
PLIMSOLL_CUDA_KERNEL(rate_at_step_cuda);

namespace {

Metas increment_infer(std::span<const Meta> in, const Attrs&) {
  check_counter("increment", in[0]);
  if (in.size() > 1) check_skip("increment", in[1]);
  return {};
}

void increment_cpu(const Call& call) {
  if (call.in.size() == 1 || !*call.in[1].as<bool>()) ++*call.in[0].as<int64_t>();
}

constexpr OpDef increment_op{.name = "increment",
                             .infer = increment_infer,
                             .cpu = increment_cpu,
                             .cuda = increment_cuda,
                             .mutates = bits(0)};

constexpr const char* kRate = "rate_at_step";

Metas rate_at_step_infer(std::span<const Meta> in, const Attrs&) {
  check_scalar(kRate, "learning rate", in[0]);
  for (const Meta& rates : in.first(2))
    check<DTypeError>(rates.dtype == DType::f64, kRate, ": learning rates must be f64: got ", rates,
                      ". Use {.dtype = DType::f64}.");
  check<ShapeError>(in[1].shape.rank() == 1 && in[1].shape[0] > 0, kRate,
                    ": the rates must be a list of one or more: got ", in[1],
                    ". Give it the shape [n].");
  for (const Meta& step : in.subspan(2)) check_counter(kRate, step);
  return {};
}

void rate_at_step_cpu(const Call& call) {
  const int64_t n = count(call.in[1].shape());
  const int64_t first = *call.in[2].as<int64_t>(), step = *call.in[3].as<int64_t>();
  *call.in[0].as<double>() = step >= first && step - first < n
                                 ? call.in[1].as<double>()[step - first]
                                 : std::numeric_limits<double>::quiet_NaN();
}

constexpr OpDef rate_at_step_op{.name = kRate,
                                .infer = rate_at_step_infer,
                                .cpu = rate_at_step_cpu,
                                .cuda = rate_at_step_cuda,
                                .mutates = bits(0)};

}  // namespace

void increment(const Tensor& counter, const Tensor& skip) {
  if (skip.defined())
    apply(increment_op, {counter, skip});
  else
    apply(increment_op, {counter});
}

void rate_at_step(const Tensor& learning_rate, const Tensor& rates, const Tensor& first,
                  const Tensor& step) {
  apply(rate_at_step_op, {learning_rate, contiguous(rates), first, step});
}

extern const std::vector<const OpDef*> increment_ops{&increment_op, &rate_at_step_op};

}  // namespace plimsoll
