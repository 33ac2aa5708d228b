// Which calls of attention cuDNN is asked to do, and the workspace of all kernels on a GPU.
#pragma once

#include "core/cuda/vendor/attention.h"
#include "ops/attention/attention/kernels.h"

namespace plimsoll::attention_detail {

// Nothing where only the kernels of attention.cu will do: options, f32, so few queries that nothing
// would be gained, or strides that cuDNN does not read. `options`: there is a mask, are segments, a
// past that is a tensor, or a gradient of log_sum_exp; `in`: q, k and v first.
inline std::optional<cuda::Attention> library_attention(const Sizes& s, DType dtype, bool options,
                                                        bool gradient, std::span<const View> in) {
  constexpr int64_t kFewestQueries = 64, kWidestHead = 128, kTogether = 8;
  const bool plain = !options && s.attrs.causal && s.attrs.past == 0 && s.attrs.softcap == 0 &&
                     s.attrs.dropout == 0 && s.attrs.window == 0;
  const bool fits = s.queries == s.keys && s.heads == s.kv_heads && s.features == s.values &&
                    s.features % kTogether == 0 && s.features <= kWidestHead &&
                    s.queries >= kFewestQueries;
  if (!plain || !fits || (dtype != DType::f16 && dtype != DType::bf16)) return std::nullopt;
  cuda::Attention a{.gradient = gradient,
                    .dtype = dtype,
                    .batch = s.batch,
                    .heads = s.heads,
                    .length = s.queries,
                    .features = s.features};
  a.q = a.k = a.v = a.dense();
  cuda::Attention::Strides* const all[] = {&a.q, &a.k, &a.v};
  for (size_t i = 0; i < 3; ++i)
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t step = in[i].strides[axis];
      if (step % kTogether != 0 || step == 0) return std::nullopt;
      (*all[i])[static_cast<size_t>(axis)] = step;
    }
  return a;
}

// A number for each query and head, in the type that they are computed in.
inline int64_t column_bytes(const Sizes& s, DType dtype) {
  return block_bytes(s.batch * s.heads * s.queries * (dtype == DType::f64 ? 8 : 4));
}

// For the gradients: delta, and with cuDNN log_sum_exp before it; then what cuDNN asks for.
inline int64_t cuda_bytes(const Call& call, const Sizes& s, bool options, bool gradient) {
  const DType dtype = call.in[0].dtype();
  const int64_t own = gradient ? column_bytes(s, dtype) : 0;
  const auto a = library_attention(s, dtype, options, gradient, call.in);
  if (!a || !cuda::attention_plan) return own;
  const auto plan = cuda::attention_plan(*a);
  return plan ? 2 * own + plan->workspace : own;
}

// By cuDNN; false: not by it (by_library.cu).
bool forward_by_library(const Call& call, const Sizes& s, const Extras& extras);
bool backward_by_library(const Call& call, const Sizes& s, const Extras& extras);

}  // namespace plimsoll::attention_detail
