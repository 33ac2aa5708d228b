// Attention by cuDNN, for the kernels of ops/attention/attention, whose letters these are: causal,
// of as many keys as queries, in 16 bits, without options.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/cuda/vendor/library_plan.h"
#include "core/tensor/value.h"

namespace plimsoll::cuda {

struct Attention {
  bool gradient = false;
  DType dtype = DType::bf16;
  int64_t batch = 0, heads = 0, length = 0, features = 0;
  // Of q, k and v [B, T, H, D], whose last axis is dense: from batch to batch, row to row, head to
  // head. The others are row-major.
  using Strides = std::array<int64_t, 3>;
  Strides q{}, k{}, v{};
  auto operator<=>(const Attention&) const = default;

  Strides dense() const { return {length * heads * features, heads * features, features}; }
};

// For a gradient that is the same in every run cuDNN keeps a dq in f32 for every 128 keys: that is
// its workspace, 402 MB for 16 sequences of 1024 with 12 heads of 64.
constexpr int64_t kMostAttentionScratch = int64_t{2} << 30;

// As convolution_plan() and convolution_plan_for() of core/cuda/vendor/convolution.h.
[[gnu::weak]] std::optional<LibraryPlan> attention_plan(const Attention& attention);
[[gnu::weak]] std::optional<LibraryPlan> attention_plan_for(const Attention& attention,
                                                            const std::string& description);

// Runs it: q, k, v, out, log_sum_exp [B, H, T] in f32; for the gradient q, k, v, out, dout,
// log_sum_exp, dq, dk, dv and scratch of the size of log_sum_exp. False: there is no plan, it needs
// more workspace than this, or a tensor does not lie on a boundary of 16 bytes.
[[gnu::weak]] bool attend_by_library(const Attention& attention, float scale,
                                     std::span<void* const> tensors,
                                     std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
