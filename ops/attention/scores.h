// What the options of attention do to a row of scores q . k on its way to probabilities: one small
// function each.
#pragma once

#include "core/math.h"
#include "ops/attention/blocks.h"
#include "ops/dropout/draw.h"

namespace plimsoll::attention_detail {

// s = c tanh(scale s / c); `slope`, if given, becomes the derivative by scale s: 1 - tanh^2.
template <class C>
void cap(C* s, int64_t n, C scale, C c, C* slope) {
  const C inner = scale / c;
  if (slope) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C t = math::tanh(s[j] * inner);
      slope[j] = 1 - t * t;
      s[j] = c * t;
    }
  } else {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) s[j] = c * math::tanh(s[j] * inner);
  }
}

// Calls f with `step` as a constant where it is 0 or 1, so that the loop becomes vector code.
template <class F>
void with_step(int64_t step, const F& f) {
  if (step == 1)
    f(std::integral_constant<int64_t, 1>());
  else if (step == 0)
    f(std::integral_constant<int64_t, 0>());
  else
    f(step);
}

template <class C, class T>
void add_mask(C* s, int64_t n, const T* mask, int64_t step) {
  with_step(step, [&](auto d) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) s[j] += static_cast<C>(mask[j * d]);
  });
}

template <class C>
void hide(C* s, int64_t n, const bool* counts, int64_t step) {
  with_step(step, [&](auto d) {
    for (int64_t j = 0; j < n; ++j)
      s[j] = counts[j * d] ? s[j] : -std::numeric_limits<C>::infinity();
  });
}

// The options of one batch b and head h. Rows are named by query i and first key j.
template <class T>
class Scores {
  using C = Compute<T>;

 public:
  Scores(const Sizes& sizes, const Extras& extras, int64_t b, int64_t h)
      : sizes_(sizes),
        mask_(extras.mask),
        row_((b * sizes.heads + h) * sizes.queries),
        bits_(sizes.attrs.dropout, sizes.attrs.site,
              extras.key ? extras.key->as<int64_t>() : nullptr) {
    if (!mask_) return;
    std::array<int64_t, 4> step{};  // 0 where the mask repeats itself
    for (int axis = 0; axis < 4; ++axis)
      if (mask_->shape()[axis] != 1) step[static_cast<size_t>(axis)] = mask_->strides[axis];
    mask_start_ = b * step[0] + h * step[1];
    mask_query_ = step[2];
    mask_key_ = step[3];
  }

  // Nothing but the scale: finish() leaves it to the exponential, as the factor of finished scores.
  bool plain() const { return !mask_ && !(sizes_.attrs.softcap > 0); }
  C factor() const { return plain() ? static_cast<C>(sizes_.attrs.scale) : C(1); }
  bool drops() const { return sizes_.attrs.dropout > 0; }

  // Finishes n raw scores. `slope`, if given, becomes their derivative but for the scale.
  void finish(C* s, int64_t i, int64_t j, int64_t n, C* slope = nullptr) const {
    if (plain()) return;
    const C scale = static_cast<C>(sizes_.attrs.scale);
    if (sizes_.attrs.softcap > 0) {
      cap(s, n, scale, static_cast<C>(sizes_.attrs.softcap), slope);
    } else {
#pragma omp simd
      for (int64_t c = 0; c < n; ++c) s[c] *= scale;
    }
    if (!mask_) return;
    const int64_t start = mask_start_ + i * mask_query_ + j * mask_key_;
    if (mask_->dtype() == DType::boolean)
      hide(s, n, mask_->as<bool>() + start, mask_key_);
    else
      add_mask(s, n, mask_->as<T>() + start, mask_key_);
  }

  // factor[c] = 0 or 1 / (1 - dropout). Rows of keys begin at a multiple of four random words; so
  // do blocks of keys.
  void draw(C* factor, int64_t i, int64_t j, int64_t n) const {
    const int64_t row_blocks = pieces(sizes_.keys, 4);
    const C kept = static_cast<C>(1 / (1 - sizes_.attrs.dropout));
    uint32_t words[kKeys];
    bits_.draw((row_ + i) * row_blocks + j / 4, n, words);
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) factor[c] = bits_.keeps(words[c]) ? kept : C(0);
  }

 private:
  const Sizes& sizes_;
  const View* mask_;
  int64_t mask_start_ = 0, mask_query_ = 0, mask_key_ = 0;
  int64_t row_;  // of this head's first query among all
  DropoutBits bits_;
};

}  // namespace plimsoll::attention_detail
