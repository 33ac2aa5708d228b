// Update rules (ops/common/update.h) whose state lies in 8 bits: in blocks of 256 elements, each
// number as the nearest of the dynamic code (ops/common/dynamic_code.h) times the block's largest
// magnitude, in f32. A block is decoded, updated as its rule says and coded again.
//
//   struct Momentum8 : Momentum {
//     static constexpr const char* name = "momentum8_update";
//     static constexpr std::array is_signed{true};      // of each slot: may it be negative?
//   };
//   coded_update<Momentum8>(w, dw, step, lr, options, skip, {{codes, scales}});
//
// Source: Dettmers, Lewis, Shleifer and Zettlemoyer, "8-bit Optimizers via Block-wise
// Quantization", 2022.
#pragma once

#include <bit>

#include "ops/common/coded_slot.h"
#include "ops/common/dynamic_code.h"
#include "ops/common/update.h"

namespace plimsoll {

// ShapeError or DTypeError unless codes and scales are those of a slot of `parameter`.
void check_coded(const char* op, const char* name, const Meta& parameter, const Meta& codes,
                 const Meta& scales);

// n <= kCodedBlock numbers of a block. Those of a NaN or an infinity are NaN.
template <class C>
void decode_block(const DynamicCode& code, const uint8_t* codes, float scale, int64_t n, C* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(code.value(codes[i]) * scale);
}
template <class C>
float encode_block(const DynamicCode& code, bool is_signed, const C* x, int64_t n, uint8_t* codes) {
  uint32_t bits = 0;  // of the largest magnitude; those of a NaN are above all
#pragma omp simd reduction(max : bits)
  for (int64_t i = 0; i < n; ++i)
    bits = std::max(bits, std::bit_cast<uint32_t>(static_cast<float>(x[i])) & 0x7fffffffU);
  const float largest = std::bit_cast<float>(bits), factor = 1 / std::max(largest, 1e-38F);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = static_cast<float>(x[i]) * factor;
    codes[i] = static_cast<uint8_t>(coded(code.nearest(scaled), scaled, is_signed));
  }
  return largest;
}

// The kernel of a GPU, defined in ops/common/coded_update.cuh for the rules that a .cu file names.
template <class F>
PLIMSOLL_CUDA_KERNEL(coded_update_cuda);

// Inputs: param, grad, step, lr, codes and scales of each slot, perhaps skip.
template <class F>
struct CodedUpdate {
  static constexpr size_t kSlots = F::slots.size(), kInputs = 4 + 2 * kSlots;

  static Metas infer(std::span<const Meta> in, const Attrs& attrs) {
    check_options(F::name, attrs.as<typename F::Options>());
    check_gradient(F::name, in[0], in[1]);
    for (size_t k = 0; k < kSlots; ++k)
      check_coded(F::name, F::slots[k], in[0], in[4 + 2 * k], in[5 + 2 * k]);
    check_counter(F::name, in[2]);
    check_scalar(F::name, "learning rate", in[3]);
    if (in.size() > kInputs) check_skip(F::name, in.back());
    return {};
  }

  static void cpu(const Call& call) {
    if (call.in.size() > kInputs && *call.in.back().as<bool>()) return;
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
    const DynamicCode* const code[] = {
        (F::is_signed[K] ? &DynamicCode::of_signed() : &DynamicCode::of_unsigned())...};
    const int64_t elements = count(call.in[0].shape());
    parallel_for(coded_blocks(elements), grain_for(kCodedBlock), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kCodedBlock, n = std::min(kCodedBlock, elements - first);
        T p[kCodedBlock]{}, g[kCodedBlock]{}, room[kCodedBlock];
        C s[kSlots][kCodedBlock]{};
        std::copy_n(call.in[0].as<T>() + first, n, p);
        std::copy_n(widened(call.in[1].as<G>() + first, n, room), n, g);
        (decode_block(*code[K], call.in[4 + 2 * K].as<uint8_t>() + first,
                      call.in[5 + 2 * K].as<float>()[b], n, s[K]),
         ...);
        for (int64_t i = 0; i < n; i += Update<F>::kBlock)
          Update<F>::run_block(step, rounding, first + i, p + i, g + i, (s[K] + i)...);
        std::copy_n(p, n, call.in[0].as<T>() + first);
        ((call.in[5 + 2 * K].as<float>()[b] = encode_block(
              *code[K], F::is_signed[K], s[K], n, call.in[4 + 2 * K].as<uint8_t>() + first)),
         ...);
      }
    });
  }

  static constexpr OpDef op{.name = F::name,
                            .infer = infer,
                            .cpu = cpu,
                            .cuda = coded_update_cuda<F>,
                            .mutates = bits(0) | (((Bits{1} << 2 * kSlots) - 1) << 4),
                            .widens = bits(1)};
};

template <class F>
void coded_update(const Tensor& param, const Tensor& grad, const Tensor& step, const Tensor& lr,
                  const typename F::Options& options, const Tensor& skip,
                  std::initializer_list<CodedSlot> slots) {
  std::vector<Tensor> in{param, contiguous(grad), step, lr};
  for (const CodedSlot& slot : slots) {
    in.push_back(slot.codes);
    in.push_back(slot.scales);
  }
  if (skip.defined()) in.push_back(skip);
  apply(CodedUpdate<F>::op, in, options);
}

}  // namespace plimsoll
