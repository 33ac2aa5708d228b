#include <cmath>

#include "core/cuda/launch.cuh"
#include "core/engine/op.h"

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
  const bool* skip = call.in.size() > 1 ? call.in[1].as<bool>() : nullptr;
  cuda::launch(increment_kernel, 1, 1, call.in[0].as<int64_t>(), skip);
}

void rate_at_step_cuda(const Call& call) {
  const std::span<const View> in = call.in;
  cuda::launch(rate_at_step_kernel, 1, 1, in[0].as<double>(), in[1].as<double>(),
               count(in[1].shape()), in[2].as<int64_t>(), in[3].as<int64_t>());
}

}  // namespace plimsoll
