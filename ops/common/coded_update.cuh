// The update rules of ops/common/coded_update.h on a GPU.
//
//   template void coded_update_cuda<update_rules::Adam8>(const Call&);
//
// A block of threads has a block of the state to itself, one element each.
#pragma once

#include "ops/common/coded_slot.h"
#include "ops/common/dynamic_code.h"
#include "ops/common/update.cuh"

namespace plimsoll {
namespace cuda {

constexpr int kCodedThreads = kCodedBlock;

struct CodedState {
  uint8_t* codes;
  float* scales;
};

template <class F, class C, size_t... K>
__global__ void coded_update_kernel(std::array<Elements<C>, 2> of,
                                    std::array<CodedState, sizeof...(K)> state, int64_t n,
                                    UpdateScalars all, typename F::Options options) {
  if (all.skip && *all.skip) return;
  if (*all.counter < 1) return note_fault(all.fault, 0, *all.counter);
  const typename F::template Step<C> step(options, all.lr.get(), static_cast<double>(*all.counter));
  const int64_t i = first_index();
  const auto decode = [&](const CodedState& slot, bool is_signed) {
    if (i >= n) return C(0);
    return static_cast<C>(dynamic_code_value(slot.codes[i], is_signed) * slot.scales[blockIdx.x]);
  };
  C s[] = {decode(state[K], F::is_signed[K])...};
  const RandomRounding rounding = random_rounding(options, static_cast<double>(*all.counter));
  if (i < n)
    of[0].set(
        i, rounded_parameter(of[0].dtype, i, step(of[0].get(i), of[1].get(i), s[K]...), rounding));
  const auto encode = [&](const CodedState& slot, float x, bool is_signed) {
    const float largest = over_block(std::abs(x), Larger());
    if (threadIdx.x == 0) slot.scales[blockIdx.x] = largest;
    const float scaled = x * (1 / (largest < 1e-38F ? 1e-38F : largest));
    if (i < n)
      slot.codes[i] =
          static_cast<uint8_t>(coded(dynamic_code_nearest(scaled, is_signed), scaled, is_signed));
  };
  __syncthreads();  // all have read the scales
  (encode(state[K], i < n ? static_cast<float>(s[K]) : 0, F::is_signed[K]), ...);
}

template <class F, size_t... K>
void coded_update_one(const Call& call, std::index_sequence<K...>) {
  const auto bad_step = [](int64_t, int64_t step, int64_t) { throw_bad_step(F::name, step); };
  const std::span<const View> in = call.in;
  const bool skips = in.size() > 4 + 2 * sizeof...(K);
  const UpdateScalars all{in[2].as<int64_t>(), scalar(in[3]),
                          skips ? in.back().as<bool>() : nullptr, fault_word(bad_step, 0)};
  const int64_t n = count(in[0].shape());
  if (n == 0) return;
  visit_floating_elements(in[0].dtype(), [&]<class C>() {
    const std::array<Elements<C>, 2> of{elements<C>(in[0]), elements<C>(in[1])};
    const std::array<CodedState, sizeof...(K)> state{
        CodedState{in[4 + 2 * K].as<uint8_t>(), in[5 + 2 * K].as<float>()}...};
    launch(coded_update_kernel<F, C, K...>, coded_blocks(n), kCodedThreads, of, state, n, all,
           call.attrs.as<typename F::Options>());
  });
}

}  // namespace cuda

template <class F>
void coded_update_cuda(const Call& call) {
  cuda::coded_update_one<F>(call, std::make_index_sequence<F::slots.size()>());
}

}  // namespace plimsoll
