#include <cmath>

#include "core/op.h"
#include "ops/many.cuh"

namespace plimsoll {
namespace {

__global__ void increment_kernel(int64_t* counter, const bool* skip) {
  if (!skip || !*skip) ++*counter;
}

__global__ void rate_at_step_kernel(double* rate, const double* rates, int64_t n,
                                    const int64_t* first, const int64_t* step) {
  *rate = *step >= *first && *step - *first < n ? rates[*step - *first] : NAN;
}

}  // namespace

void increment_cuda(const Call& call) {
  const bool skips = call.in.size() > 1 && call.in[1].dtype() == DType::boolean;
  cuda::for_calls(call, skips ? 2 : 1, [&](std::span<const View> in) {
    const bool* skip = skips ? in[1].as<bool>() : nullptr;
    cuda::launch(increment_kernel, 1, 1, in[0].as<int64_t>(), skip);
  });
}

void rate_at_step_cuda(const Call& call) {
  cuda::for_calls(call, 4, [](std::span<const View> in) {
    cuda::launch(rate_at_step_kernel, 1, 1, in[0].as<double>(), in[1].as<double>(),
                 count(in[1].shape()), in[2].as<int64_t>(), in[3].as<int64_t>());
  });
}

}  // namespace plimsoll
