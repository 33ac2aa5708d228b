// What the options of attention do to a block of scores q . k on its way to probabilities.
#pragma once

#include "core/base/math.h"
#include "ops/attention/attention/blocks.h"
#include "ops/random/dropout/draw.h"

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

// Masks and random words lie in rows of keys. A row of each query is brought here, and all are then
// turned into lanes.
template <class C>
struct Turned {
  static constexpr int64_t kPitch = kKeys + 16;  // rows lie in different sets of the cache
  C *rows, *lanes;                               // [kQueries, kPitch], [keys, kQueries]

  Turned(BumpAllocator& scratch, const Sizes& sizes) {
    const bool needed = sizes.masked || sizes.attrs.dropout > 0;
    rows = scratch.take<C>(needed * kQueries * kPitch);
    lanes = scratch.take<C>(needed * elements_of_block(sizes));
  }

  // The lanes of no query become 0.
  void turn(const Block& block) const {
    if (block.n < kQueries) std::fill_n(lanes, block.m * kQueries, C(0));
    transpose(rows, kPitch, block.n, block.m, lanes, kQueries);
  }
};

// The options of one batch b and head h.
template <class T>
class Scores {
  using C = Compute<T>;

 public:
  Scores(const Sizes& sizes, const Extras& extras, int64_t b, int64_t h)
      : sizes_(sizes),
        segments_(sizes, extras, b),
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

  // The scale alone is left to the exponential, as the factor of finished scores.
  C factor() const { return mask_ || caps() ? C(1) : static_cast<C>(sizes_.attrs.scale); }
  bool caps() const { return sizes_.attrs.softcap > 0; }
  bool drops() const { return sizes_.attrs.dropout > 0; }
  const Segments& segments() const { return segments_; }

  // Finishes raw scores [m, kQueries]; those that are not seen become -infinity. `slope`, if given,
  // becomes their derivative but for the scale where they are capped.
  void finish(const Block& block, C* s, const Turned<C>& turned, C* slope = nullptr) const {
    const C scale = static_cast<C>(sizes_.attrs.scale);
    const int64_t n = block.m * kQueries;
    if (caps()) {
      cap(s, n, scale, static_cast<C>(sizes_.attrs.softcap), slope);
    } else if (mask_) {
#pragma omp simd
      for (int64_t e = 0; e < n; ++e) s[e] *= scale;
    }
    if (mask_ && mask_->dtype() == DType::boolean)
      add_mask<bool>(block, s, turned);
    else if (mask_)
      add_mask<T>(block, s, turned);
    if (segments_.any()) hide_other_segments(block, s);
    for (int64_t c = seen_by_all(sizes_, block); c < block.m; ++c)
      std::fill_n(s + c * kQueries, hidden_lanes(sizes_, block, block.j + c), kHidden);
    const int64_t left = sizes_.first_seen(block.i + block.n - 1) - block.j;  // by the last query
    for (int64_t c = 0; c < std::min(left, block.m); ++c) {
      const int64_t lanes = lanes_in_window(sizes_, block, block.j + c);
      std::fill_n(s + c * kQueries + lanes, kQueries - lanes, kHidden);
    }
  }

  // turned.lanes [m, kQueries] become 0 or 1 / (1 - dropout). Rows of keys begin at a multiple of
  // four random words; so do blocks of keys.
  void draw(const Block& block, const Turned<C>& turned) const {
    const int64_t row_blocks = pieces(sizes_.keys, 4);
    const C kept = static_cast<C>(1 / (1 - sizes_.attrs.dropout));
    for (int64_t r = 0; r < block.n; ++r) {
      uint32_t words[kKeys];
      bits_.draw((row_ + block.i + r) * row_blocks + block.j / 4, block.m, words);
      C* row = turned.rows + r * turned.kPitch;
#pragma omp simd
      for (int64_t c = 0; c < block.m; ++c) row[c] = bits_.keeps(words[c]) ? kept : C(0);
    }
    turned.turn(block);
  }

 private:
  static constexpr C kHidden = -std::numeric_limits<C>::infinity();

  // Segments rise, so between two positions of one sequence there is no other.
  void hide_other_segments(const Block& block, C* s) const {
    const int64_t end = std::max(block.i + block.n, block.j + block.m);
    if (segments_.same(std::min(block.i, block.j), end - 1)) return;
    for (int64_t c = 0; c < block.m; ++c)
      for (int64_t l = 0; l < block.n; ++l)
        if (!segments_.same(block.i + l, block.j + c)) s[c * kQueries + l] = kHidden;
  }

  template <class M>
  static C value_of(M mask) {
    if constexpr (std::is_same_v<M, bool>)
      return mask ? C(0) : kHidden;
    else
      return static_cast<C>(mask);
  }
  // Whatever is hidden stays hidden, a NaN too.
  static C masked(C s, C mask) { return mask == kHidden ? kHidden : s + mask; }

  template <class M>
  void add_mask(const Block& block, C* s, const Turned<C>& turned) const {
    const M* mask = mask_->as<M>() + mask_start_ + block.i * mask_query_ + block.j * mask_key_;
    const int64_t rows = mask_query_ == 0 ? 1 : block.n;  // 1: all queries share it
    for (int64_t r = 0; r < rows; ++r)
      with_step(mask_key_, [&](auto step) {
        const M* from = mask + r * mask_query_;
        C* row = turned.rows + r * turned.kPitch;
#pragma omp simd
        for (int64_t c = 0; c < block.m; ++c) row[c] = value_of(from[c * step]);
      });
    if (mask_query_ != 0) turned.turn(block);
    for (int64_t c = 0; c < block.m; ++c) {
      C* to = s + c * kQueries;
      if (mask_query_ == 0) {
        const C shared = turned.rows[c];
#pragma omp simd
        for (int64_t l = 0; l < kQueries; ++l) to[l] = masked(to[l], shared);
      } else {
        const C* own = turned.lanes + c * kQueries;
#pragma omp simd
        for (int64_t l = 0; l < kQueries; ++l) to[l] = masked(to[l], own[l]);
      }
    }
  }

  const Sizes& sizes_;
  Segments segments_;
  const View* mask_;
  int64_t mask_start_ = 0, mask_query_ = 0, mask_key_ = 0;
  int64_t row_;  // of this head's first query among all
  DropoutBits bits_;
};

}  // namespace plimsoll::attention_detail
