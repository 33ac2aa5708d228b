#include "ops/attention/attention/gradients.h"

namespace plimsoll::attention_detail {
namespace {

template <class T>
struct Area {
  using C = Compute<T>;
  Known<C> known;  // of a block
  Turned<C> turned;
  C *p, *ds;              // [keys, kQueries]
  C *q_lanes, *dy_lanes;  // [D, kQueries] and [E, kQueries] of a block
  double* total;          // of a piece of the mask
  C *q, *k, *v, *dy;      // 16-bit types only: widened blocks

  Area(BumpAllocator& scratch, const Sizes& sizes)
      : known(scratch, kQueries), turned(scratch, sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t wide = std::is_same_v<T, C> ? 0 : 1;
    const int64_t block = elements_of_block(sizes);
    p = scratch.take<C>(block);
    ds = scratch.take<C>(block);
    q_lanes = scratch.take<C>(sizes.features * kQueries);
    dy_lanes = scratch.take<C>(sizes.values * kQueries);
    total = scratch.take<double>(std::max<int64_t>(nq, 1) * std::max<int64_t>(nk, 1));
    q = scratch.take<C>(wide * nq * sizes.features);
    k = scratch.take<C>(wide * nk * sizes.features);
    v = scratch.take<C>(wide * nk * sizes.values);
    dy = scratch.take<C>(wide * nq * sizes.values);
  }
};

// A range along one axis of the scores: a block, or the whole axis where the mask repeats itself.
struct Range {
  int64_t begin, end;
};

struct Axis {
  int64_t size, block;  // of the scores; what is worked on at once
  bool repeats;         // the mask has size 1 here
  int64_t pieces_of_mask() const { return repeats ? 1 : pieces(size, block); }
  Range range(int64_t piece) const {
    if (repeats) return {0, size};
    return {piece * block, std::min(size, (piece + 1) * block)};
  }
};

// The scores [B, H, T, S] and the mask over them: pieces of the mask are work items, and each adds
// up all scores that it was added to.
struct MaskBlocks {
  std::array<Axis, 4> axes;
  MaskBlocks(const Sizes& sizes, const Shape& mask)
      : axes{{{sizes.batch, 1, mask[0] == 1},
              {sizes.heads, 1, mask[1] == 1},
              {sizes.queries, kQueries, mask[2] == 1},
              {sizes.keys, kKeys, mask[3] == 1}}} {}
  int64_t items() const {
    int64_t n = 1;
    for (const Axis& axis : axes) n *= axis.pieces_of_mask();
    return n;
  }
  std::array<Range, 4> ranges(int64_t item) const {
    std::array<Range, 4> result;
    for (size_t a = 4; a-- > 0; item /= axes[a].pieces_of_mask())
      result[a] = axes[a].range(item % axes[a].pieces_of_mask());
    return result;
  }
};

template <class T>
class Piece {
  using C = Compute<T>;

 public:
  Piece(const Call& call, const Sizes& sizes, const Extras& extras, const MaskBlocks& cut,
        const Area<T>& area)
      : call_(call), sizes_(sizes), extras_(extras), cut_(cut), area_(area) {}

  void run(const std::array<Range, 4>& ranges) const {
    const auto& [batches, heads, queries, keys] = ranges;
    const int64_t rows = cut_.axes[2].repeats ? 1 : queries.end - queries.begin;
    const int64_t cols = cut_.axes[3].repeats ? 1 : keys.end - keys.begin;
    std::fill_n(area_.total, rows * cols, 0.0);
    for (int64_t b = batches.begin; b < batches.end; ++b)
      for (int64_t h = heads.begin; h < heads.end; ++h)
        for (int64_t i = queries.begin; i < queries.end; i += kQueries)
          for (int64_t j = keys.begin; j < keys.end; j += kKeys)
            add_block(b, h, i, std::min(kQueries, queries.end - i), j,
                      std::min(kKeys, keys.end - j), cols);
    const Strides& to = call_.out[0].strides;
    T* first = call_.out[0].as<T>() + (cut_.axes[0].repeats ? 0 : batches.begin * to[0]) +
               (cut_.axes[1].repeats ? 0 : heads.begin * to[1]) + queries.begin * to[2] +
               keys.begin * to[3];
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        first[r * to[2] + c] = static_cast<T>(static_cast<C>(area_.total[r * cols + c]));
  }

 private:
  void add_block(int64_t b, int64_t h, int64_t i, int64_t n, int64_t j, int64_t m,
                 int64_t cols) const {
    const Block block{i, n, j, std::min(m, sizes_.seen(i + n - 1) - j)};
    if (block.m <= 0) return;
    const int64_t shared = h / sizes_.group(), d = sizes_.features, e = sizes_.values;
    const Rows<T> q = head_rows<T>(call_.in[0], b, h, i, n, area_.q);
    const Rows<T> k = head_rows<T>(call_.in[1], b, shared, j, block.m, area_.k);
    const Rows<T> v = head_rows<T>(call_.in[2], b, shared, j, block.m, area_.v);
    const Rows<T> dy = head_rows<T>(call_.in[5], b, h, i, n, area_.dy);
    C *const p = area_.p, *const ds = area_.ds;
    const int64_t lanes = lanes_to_multiply<T>(n);
    multiply_block<T>(block.m, lanes, d, k.matrix(), lanes_of(q, n, d, area_.q_lanes), p, kQueries);
    multiply_block<T>(block.m, lanes, e, v.matrix(), lanes_of(dy, n, e, area_.dy_lanes), ds,
                      kQueries);
    area_.known.template fill<T>(call_, sizes_, extras_, b, h, i, n);
    differentiate<T>(Scores<T>(sizes_, extras_, b, h), block, area_.known, p, ds, nullptr,
                     area_.turned, C(1));
    const bool one_row = cut_.axes[2].repeats, one_column = cut_.axes[3].repeats;
    for (int64_t c = 0; c < block.m; ++c)
      for (int64_t r = 0; r < n; ++r)
        area_.total[(one_row ? 0 : r * cols) + (one_column ? 0 : c)] +=
            static_cast<double>(ds[c * kQueries + r]);
  }

  const Call& call_;
  const Sizes& sizes_;
  const Extras& extras_;
  const MaskBlocks& cut_;
  const Area<T>& area_;
};

}  // namespace

int64_t mask_backward_workspace(const Sizes& sizes, DType dtype, const Shape& mask) {
  return visit_floating("attention_mask_grad", dtype, [&]<class T>() {
    return slots_bytes(MaskBlocks(sizes, mask).items(), area_bytes<Area<T>>(sizes));
  });
}

void mask_backward(const Call& call, const Sizes& sizes, const Extras& extras) {
  const MaskBlocks cut(sizes, call.out[0].shape());
  visit_floating("attention_mask_grad", call.out[0].dtype(), [&]<class T>() {
    for_each_with_slot(cut.items(), call.workspace, area_bytes<Area<T>>(sizes),
                       [&](int64_t item, std::byte* slot) {
                         BumpAllocator scratch(slot);
                         const Area<T> area(scratch, sizes);
                         Piece<T>(call, sizes, extras, cut, area).run(cut.ranges(item));
                       });
  });
}

}  // namespace plimsoll::attention_detail
