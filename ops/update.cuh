// The update rules of ops/update.h on a GPU.
//
//   template void update_cuda<update_rules::Adam>(const Call&);      // in ops/adam_update/*.cu
//
// What is the same for all elements is computed by one thread of each block from the step count and
// the learning rate, which lie in device memory, as does whether to skip the step.
#pragma once

#include <new>
#include <utility>

#include "core/cuda/elements.cuh"
#include "core/cuda/faults.cuh"
#include "core/cuda/launch.cuh"
#include "core/op.h"
#include "ops/scalar.cuh"
#include "ops/step_count.h"

namespace plimsoll {
namespace cuda {

template <class C, size_t kSlots>
struct UpdateOperands {
  Elements<C> param, grad, slot[kSlots > 0 ? kSlots : 1];
  const int64_t* counter;
  Scalar lr;
  const bool* skip;  // nullptr: no
  uint64_t* fault;   // for a step below 1
};

template <class F, class C, size_t... K>
__global__ void update_kernel(UpdateOperands<C, sizeof...(K)> o, typename F::Options options,
                              int64_t n, bool packs) {
  using Step = typename F::template Step<C>;
  using Several = typename Elements<C>::Several;
  if (o.skip && *o.skip) return;
  if (*o.counter < 1) return note_fault(o.fault, 0, *o.counter);
  alignas(Step) __shared__ std::byte memory[sizeof(Step)];
  if (threadIdx.x == 0) new (memory) Step(options, o.lr.get(), static_cast<double>(*o.counter));
  __syncthreads();
  const Step step = *std::launder(reinterpret_cast<const Step*>(memory));
  const int64_t together = packs ? kTogether : 1;
  for (int64_t i = first_index() * together; i < n; i += total_threads() * together) {
    if (packs) {
      Several p = o.param.get_several(i);
      const Several g = o.grad.get_several(i);
      [[maybe_unused]] Several s[] = {o.slot[K].get_several(i)..., Several()};
      for (int j = 0; j < kTogether; ++j) p.at[j] = step(p.at[j], g.at[j], s[K].at[j]...);
      o.param.set_several(i, p);
      (o.slot[K].set_several(i, s[K]), ...);
    } else {
      [[maybe_unused]] C s[] = {o.slot[K].get(i)..., C()};
      o.param.set(i, step(o.param.get(i), o.grad.get(i), s[K]...));
      (o.slot[K].set(i, s[K]), ...);
    }
  }
}

template <class F, class C, size_t... K>
void launch_update(const Call& call, std::index_sequence<K...>) {
  constexpr size_t kSlots = sizeof...(K);
  const auto bad_step = [](int64_t, int64_t step, int64_t) { throw_bad_step(F::name, step); };
  const int64_t n = count(call.in[0].shape());
  if (n == 0) return;
  const View* skip = call.in.size() > 4 + kSlots ? &call.in.back() : nullptr;
  const bool packs =
      in_packs(call.in[0], n) && in_packs(call.in[1], n) && (in_packs(call.in[4 + K], n) && ...);
  launch(update_kernel<F, C, K...>, blocks_for(packs ? n / kTogether : n), kThreads,
         UpdateOperands<C, kSlots>{elements<C>(call.in[0]),
                                   elements<C>(call.in[1]),
                                   {elements<C>(call.in[4 + K])...},
                                   call.in[2].as<int64_t>(),
                                   scalar(call.in[3]),
                                   skip ? skip->as<bool>() : nullptr,
                                   fault_word(bad_step, 0)},
         call.attrs.as<typename F::Options>(), n, packs);
}

}  // namespace cuda

template <class F>
void update_cuda(const Call& call) {
  cuda::visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    cuda::launch_update<F, C>(call, std::make_index_sequence<F::slots.size()>());
  });
}

}  // namespace plimsoll
