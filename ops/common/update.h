// Ops that update one parameter are one struct each, in a header that the kernels of a GPU share
// (ops/common/update.cuh); the driver here makes the CPU's kernel and the OpDef.
// They write their inputs in place and have no outputs; what changes from step to step (learning
// rate, step count) reaches them as tensors.
//
//   struct Momentum {
//     static constexpr const char* name = "momentum_update";
//     static constexpr std::array slots{"velocity"};              // its state, one tensor for each
//     using Options = MomentumUpdate;                             // check_options() knows them
//     template <class C> struct Step {                            // C: double for f64, else float
//       constexpr Step(const Options& o, double lr, double t);  // the same for all elements
//       constexpr C operator()(C p, C g, C& v) const { v = beta * v + g; return p - rate * v; }
//     };
//   };
//   update<Momentum>(w, dw, step, lr, options, skip, velocity);
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "core/cpu/parallel.h"
#include "core/cpu/philox.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/common/random_rounding.h"
#include "ops/common/step_count.h"
#include "ops/common/widened.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

// `gradient` is like `parameter`, `state` has its shape and compute_dtype(): ShapeError,
// DTypeError.
void check_gradient(const char* op, const Meta& parameter, const Meta& gradient);
void check_state(const char* op, const char* name, const Meta& parameter, const Meta& state);

// A scalar tensor of f32 or f64, such as the learning rate: ShapeError, DTypeError.
void check_scalar(const char* op, const char* name, const Meta& scalar);
double read_scalar(const View& scalar);

// The number of the step, counted from 1: i64, a scalar. read_step: ValueError when it is below 1.
void check_counter(const char* op, const Meta& counter);
double read_step(const char* op, const View& counter);

// Whether to leave everything as it is, bit for bit: a scalar of bool. ShapeError, DTypeError.
void check_skip(const char* op, const Meta& skip);

// ValueError, in the name of `op`: a number below 0, or a share that is not in [0, 1).
void check_number(const char* op, const char* name, double value);
void check_share(const char* op, const char* name, double value);

// The kernel of a GPU, defined in ops/common/update.cuh for the rules that a .cu file names.
template <class F>
PLIMSOLL_CUDA_KERNEL(update_cuda);

// Inputs: param, grad, step, lr, slots..., perhaps skip.
template <class F>
struct Update {
  static constexpr size_t kSlots = F::slots.size();

  static Metas infer(std::span<const Meta> in, const Attrs& attrs) {
    check_options(F::name, attrs.as<typename F::Options>());
    check_gradient(F::name, in[0], in[1]);
    for (size_t k = 0; k < kSlots; ++k) check_state(F::name, F::slots[k], in[0], in[4 + k]);
    check_counter(F::name, in[2]);
    check_scalar(F::name, "learning rate", in[3]);
    if (in.size() > 4 + kSlots) check_skip(F::name, in.back());
    return {};
  }

  static void cpu(const Call& call) {
    if (call.in.size() > 4 + kSlots && *call.in.back().as<bool>()) return;
    visit_floating(F::name, call.in[0].dtype(), [&]<class T>() {
      visit_widened<T>(call.in[1].dtype(),
                       [&]<class G>() { run<T, G>(call, std::make_index_sequence<kSlots>()); });
    });
  }

  template <class T, class G, size_t... K>
  static void run(const Call& call, std::index_sequence<K...>) {
    using C = Compute<T>;
    const auto& options = call.attrs.as<typename F::Options>();
    const double t = read_step(F::name, call.in[2]);
    const typename F::template Step<C> step(options, read_scalar(call.in[3]), t);
    const RandomRounding rounding = random_rounding(options, t);
    T* param = call.in[0].as<T>();
    const G* grad = call.in[1].as<G>();
    const std::array<C*, kSlots> slots{call.in[4 + K].template as<C>()...};
    parallel_for(count(call.in[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
      T room[kBlock];
      for (int64_t i = begin; i < end; i += kBlock) {
        const auto rest = std::min(kBlock, end - i);
        const T* const from = widened(grad + i, rest, room);
        if (rest == kBlock) {
          run_block(step, rounding, i, param + i, from, (slots[K] + i)...);
          continue;
        }
        T p[kBlock]{}, g[kBlock]{};
        C s[kSlots + 1][kBlock]{};
        std::copy_n(param + i, rest, p);
        std::copy_n(from, rest, g);
        (std::copy_n(slots[K] + i, rest, s[K]), ...);
        run_block(step, rounding, i, p, g, s[K]...);
        std::copy_n(p, rest, param + i);
        (std::copy_n(s[K], rest, slots[K] + i), ...);
      }
    });
  }

  // The same machine code for every element, wherever it lies: a compiler may round sums of
  // products in one way in a loop and in another in what is left at its end. So ranks that update
  // parts have the bits of one that updates all.
  static constexpr int64_t kBlock = 64;
  template <class T, class Step, class... Slots>
  [[gnu::noinline]] static void run_block(const Step& step, T* param, const T* grad,
                                          Slots*... slots) {
    using C = Compute<T>;
#pragma omp simd
    for (int64_t i = 0; i < kBlock; ++i)
      param[i] =
          static_cast<T>(step(static_cast<C>(param[i]), static_cast<C>(grad[i]), slots[i]...));
  }

  // The same for elements from `first` on, a multiple of four, of a parameter that may have to be
  // rounded at random.
  template <class T, class Step, class... Slots>
  static void run_block(const Step& step, const RandomRounding& rounding, int64_t first, T* param,
                        const T* grad, Slots*... slots) {
    if constexpr (std::is_same_v<T, BFloat16>)
      if (rounding.key != 0) {
        float p[kBlock], g[kBlock];
        for (int64_t i = 0; i < kBlock; ++i) p[i] = static_cast<float>(param[i]);
        for (int64_t i = 0; i < kBlock; ++i) g[i] = static_cast<float>(grad[i]);
        run_block(step, p, g, slots...);
        uint32_t words[kBlock];
        draw_words(rounding.key, rounding.step, static_cast<uint64_t>(first / 4), kBlock, words);
        for (int64_t i = 0; i < kBlock; ++i)
          param[i] = static_cast<BFloat16>(rounded_at_random(p[i], words[i]));
        return;
      }
    run_block(step, param, grad, slots...);
  }

  static constexpr OpDef op{.name = F::name,
                            .infer = infer,
                            .cpu = cpu,
                            .cuda = update_cuda<F>,
                            .mutates = bits(0) | (((Bits{1} << kSlots) - 1) << 4),
                            .widens = bits(1)};
};

template <class F, class... Slots>
void update(const Tensor& param, const Tensor& grad, const Tensor& step, const Tensor& lr,
            const typename F::Options& options, const Tensor& skip, const Slots&... slots) {
  std::vector<Tensor> in{param, contiguous(grad), step, lr, slots...};
  if (skip.defined()) in.push_back(skip);
  apply(Update<F>::op, in, options);
}

}  // namespace plimsoll
