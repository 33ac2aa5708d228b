// The update rules of ops/common/update.h on a GPU, of many parameters in one launch.
//
//   template void update_cuda<update_rules::Adam>(const Call&);      // in ops/update/adam_update/*.cu
//
// What is the same for all elements is computed by one thread of each block from the step count and
// the learning rate, which lie in device memory, as does whether to skip the step.
#pragma once

#include <new>
#include <utility>

#include "core/cuda/faults.cuh"
#include "ops/common/many.cuh"
#include "ops/common/step_count.h"

namespace plimsoll {
namespace cuda {

// What all parameters of a launch have in common.
struct UpdateScalars {
  const int64_t* counter;
  Scalar lr;
  const bool* skip;  // nullptr: no
  uint64_t* fault;   // for a step below 1
};

// Of a chunk: the parameter, its gradient, and its slots.
template <class F, class C, size_t... K>
__global__ void update_kernel(Many<C, 2 + sizeof...(K)> many, UpdateScalars all,
                              typename F::Options options) {
  using Step = typename F::template Step<C>;
  using Several = typename Elements<C>::Several;
  if (all.skip && *all.skip) return;
  if (*all.counter < 1) return note_fault(all.fault, 0, *all.counter);
  alignas(Step) __shared__ std::byte memory[sizeof(Step)];
  if (threadIdx.x == 0) new (memory) Step(options, all.lr.get(), static_cast<double>(*all.counter));
  __syncthreads();
  const Step step = *std::launder(reinterpret_cast<const Step*>(memory));
  const auto chunk = many.chunk(blockIdx.x);
  const Row<C>&param = chunk.row[0], &grad = chunk.row[1];
  const int64_t together = chunk.packs ? kTogether : 1;
  for (int64_t i = threadIdx.x * together; i < chunk.n; i += blockDim.x * together) {
    if (kMovesPacks<C> && chunk.packs) {
      Several p = param.get_several(i);
      const Several g = grad.get_several(i);
      [[maybe_unused]] Several s[] = {chunk.row[2 + K].get_several(i)..., Several()};
      for (int j = 0; j < kTogether; ++j) p.at[j] = step(p.at[j], g.at[j], s[K].at[j]...);
      param.set_several(i, p);
      (chunk.row[2 + K].set_several(i, s[K]), ...);
    } else {
      [[maybe_unused]] C s[] = {chunk.row[2 + K].get(i)..., C()};
      param.set(i, step(param.get(i), grad.get(i), s[K]...));
      (chunk.row[2 + K].set(i, s[K]), ...);
    }
  }
}

template <class F, size_t... K>
void update_all(const Call& call, std::index_sequence<K...>) {
  constexpr size_t kSlots = sizeof...(K);
  const auto bad_step = [](int64_t, int64_t step, int64_t) { throw_bad_step(F::name, step); };
  // A skip, if there is one, stands where the next of several calls has its parameter, which is not
  // of bool.
  const bool skips = call.in.size() > 4 + kSlots && call.in[4 + kSlots].dtype() == DType::boolean;
  const size_t each = 4 + kSlots + (skips ? 1 : 0);
  const auto same = [&](size_t a, size_t b) {
    const View *x = &call.in[a * each], *y = &call.in[b * each];
    return x[2].data == y[2].data && x[3].data == y[3].data &&
           (!skips || x[each - 1].data == y[each - 1].data);
  };
  for_runs(call.in.size() / each, same, [&](size_t begin, size_t end) {
    std::vector<Together<2 + kSlots>> tensors;
    for (size_t i = begin; i < end; ++i) {
      const View* in = &call.in[i * each];
      tensors.push_back({&in[0], &in[1], &in[4 + K]...});
    }
    const View* in = &call.in[begin * each];
    const UpdateScalars all{in[2].as<int64_t>(), scalar(in[3]),
                            skips ? in[each - 1].as<bool>() : nullptr, fault_word(bad_step, 0)};
    for_many<2 + kSlots>(tensors, [&]<class C>(const Many<C, 2 + sizeof...(K)>& many, int64_t) {
      launch(update_kernel<F, C, K...>, many.chunks(), kThreads, many, all,
             call.attrs.as<typename F::Options>());
    });
  });
}

}  // namespace cuda

template <class F>
void update_cuda(const Call& call) {
  cuda::update_all<F>(call, std::make_index_sequence<F::slots.size()>());
}

}  // namespace plimsoll
