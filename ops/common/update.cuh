// The update rules of ops/common/update.h on a GPU.
//
//   template void update_cuda<update_rules::Adam>(const Call&);  // in ops/update/adam_update/*.cu
//
// What is the same for all elements is computed by one thread of each block from the step count and
// the learning rate, which lie in device memory, as does whether to skip the step.
#pragma once

#include <array>
#include <new>
#include <utility>

#include "core/cuda/elements.cuh"
#include "core/cuda/faults.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/common/random_rounding.h"
#include "ops/common/scalar.cuh"
#include "ops/common/step_count.h"

namespace plimsoll {
namespace cuda {

struct UpdateScalars {
  const int64_t* counter;
  Scalar lr;
  const bool* skip;  // nullptr: no
  uint64_t* fault;   // for a step below 1
};

// What is kept of element i of a parameter.
template <class C>
__device__ C rounded_parameter(DType dtype, int64_t i, C value, const RandomRounding& rounding) {
  if constexpr (std::is_same_v<C, float>)
    if (rounding.key != 0 && dtype == DType::bf16)
      return rounded_at_random(
          value, random_words(rounding.key, rounding.step, static_cast<uint64_t>(i / 4))[i % 4]);
  return value;
}

// of: the parameter, its gradient, and its slots, of n elements each.
template <class F, class C, size_t... K>
__global__ void update_kernel(std::array<Elements<C>, 2 + sizeof...(K)> of, int64_t n,
                              UpdateScalars all, typename F::Options options) {
  using Step = typename F::template Step<C>;
  if (all.skip && *all.skip) return;
  if (*all.counter < 1) return note_fault(all.fault, 0, *all.counter);
  alignas(Step) __shared__ std::byte memory[sizeof(Step)];
  if (threadIdx.x == 0) new (memory) Step(options, all.lr.get(), static_cast<double>(*all.counter));
  __syncthreads();
  const Step step = *std::launder(reinterpret_cast<const Step*>(memory));
  const RandomRounding rounding = random_rounding(options, static_cast<double>(*all.counter));
  for (int64_t i = first_index() * kPack; i < n; i += total_threads() * kPack) {
    C p[kPack], g[kPack];
    [[maybe_unused]] C s[sizeof...(K) + 1][kPack];
    of[0].get(i, n, p);
    of[1].get(i, n, g);
    (of[2 + K].get(i, n, s[K]), ...);
    for (int j = 0; j < kPack; ++j)
      p[j] = rounded_parameter(of[0].dtype, i + j, step(p[j], g[j], s[K][j]...), rounding);
    of[0].set(i, n, p);
    (of[2 + K].set(i, n, s[K]), ...);
  }
}

// Inputs: param, grad, step, lr, slots..., perhaps skip.
template <class F, size_t... K>
void update_one(const Call& call, std::index_sequence<K...>) {
  const auto bad_step = [](int64_t, int64_t step, int64_t) { throw_bad_step(F::name, step); };
  const std::span<const View> in = call.in;
  const bool skips = in.size() > 4 + sizeof...(K);
  const UpdateScalars all{in[2].as<int64_t>(), scalar(in[3]),
                          skips ? in.back().as<bool>() : nullptr, fault_word(bad_step, 0)};
  const int64_t n = count(in[0].shape());
  visit_floating_elements(in[0].dtype(), [&]<class C>() {
    const std::array<Elements<C>, 2 + sizeof...(K)> of{elements<C>(in[0]), elements<C>(in[1]),
                                                       elements<C>(in[4 + K])...};
    launch(update_kernel<F, C, K...>, blocks_for(packs_in(n)), kThreads, of, n, all,
           call.attrs.as<typename F::Options>());
  });
}

}  // namespace cuda

template <class F>
void update_cuda(const Call& call) {
  cuda::update_one<F>(call, std::make_index_sequence<F::slots.size()>());
}

}  // namespace plimsoll
