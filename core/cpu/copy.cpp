#include "core/cpu/copy.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/cpu/gemm/transpose.h"
#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

struct Axis {
  int64_t size, from, to;  // steps in elements
};

struct Axes {
  std::array<Axis, kMaxRank> axes{};
  int rank = 0;
  auto begin() { return axes.begin(); }
  auto end() { return axes.begin() + rank; }
};

// Innermost first, without those of one index; axes that lie one behind another in both are one.
Axes merged_axes(const View& from, const View& to) {
  Axes merged;
  for (int axis = from.shape().rank() - 1; axis >= 0; --axis) {
    const Axis next{from.shape()[axis], from.strides[axis], to.strides[axis]};
    if (next.size == 1) continue;
    Axis* const last = merged.rank > 0 ? &merged.axes[merged.rank - 1] : nullptr;
    if (last && next.from == last->size * last->from && next.to == last->size * last->to)
      last->size *= next.size;
    else
      merged.axes[merged.rank++] = next;
  }
  return merged;
}

// Where the places of some axes lie, one after another.
class Places {
 public:
  Places(std::span<const Axis> axes, int64_t number) : axes_(axes) {
    for (size_t k = 0; k < axes.size(); ++k) {
      index_[k] = number % axes[k].size;
      number /= axes[k].size;
      from += index_[k] * axes[k].from;
      to += index_[k] * axes[k].to;
    }
  }
  void next() {
    for (size_t k = 0; k < axes_.size(); ++k) {
      from += axes_[k].from;
      to += axes_[k].to;
      if (++index_[k] < axes_[k].size) return;
      from -= index_[k] * axes_[k].from;
      to -= index_[k] * axes_[k].to;
      index_[k] = 0;
    }
  }
  int64_t from = 0, to = 0;

 private:
  std::span<const Axis> axes_;
  std::array<int64_t, kMaxRank> index_{};
};

int64_t count(std::span<const Axis> axes) {
  int64_t n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

// By vectors: for some KiB memcpy takes an instruction that on AMD's Zen 3 has a seventh of the
// rate where both lie equally far into their pages (glibc bug 30994).
template <class T>
void copy_run(const T* from, T* to, Axis run) {
  int64_t i = 0;
  if (run.from == 1 && run.to == 1)
    for (; i + kLanes<T> <= run.size; i += kLanes<T>) store(to + i, load<Vector<T>>(from + i));
  for (; i < run.size; ++i) to[i * run.to] = from[i * run.from];
}

// A long run is several pieces of work.
template <class T>
void copy_runs(const T* from, T* to, const Axis& run, std::span<const Axis> outer) {
  constexpr int64_t kMost = 16384;
  const int64_t parts = pieces(run.size, kMost);
  parallel_for(count(outer) * parts, grain_for(run.size / parts), [&](int64_t begin, int64_t end) {
    Places places(outer, begin / parts);
    int64_t part = begin % parts;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = part * kMost;
      copy_run(from + places.from + first * run.from, to + places.to + first * run.to,
               {std::min(kMost, run.size - first), run.from, run.to});
      if (++part < parts) continue;
      part = 0;
      places.next();
    }
  });
}

// Neighbours along `row` lie side by side in `to`, those along `column` in `from`: what is copied
// at a time is a square, whose lines stay in the first cache.
template <class T>
void copy_transposed(const T* from, T* to, const Axis& row, const Axis& column,
                     std::span<const Axis> outer) {
  constexpr int64_t kSide = 64;
  const int64_t down = pieces(row.size, kSide), squares = down * pieces(column.size, kSide);
  parallel_for(
      count(outer) * squares, grain_for(std::min(kSide, row.size) * std::min(kSide, column.size)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Places place(outer, i / squares);
          const int64_t r = i % squares % down * kSide, c = i % squares / down * kSide;
          transpose(from + place.from + r * row.from + c, row.from, std::min(kSide, row.size - r),
                    std::min(kSide, column.size - c), to + place.to + c * column.to + r, column.to);
        }
      });
}

template <class T>
void copy_typed(const View& from, const View& to) {
  Axes axes = merged_axes(from, to);
  if (axes.rank == 0) axes.axes[axes.rank++] = {1, 1, 1};
  const auto near = [&](auto first, int64_t Axis::*step) {
    const auto found = std::find_if(first, axes.end(), [&](const Axis& a) { return a.*step == 1; });
    if (found == axes.end()) return false;
    std::rotate(first, found, found + 1);
    return true;
  };
  constexpr int64_t kFewColumns = 8;  // squares of fewer are no faster than runs
  const bool written_in_rows = near(axes.begin(), &Axis::to);
  const std::span<const Axis> all(axes.begin(), axes.end());
  if (all[0].from != 1 && written_in_rows && near(axes.begin() + 1, &Axis::from) &&
      all[1].size >= kFewColumns)
    copy_transposed(from.as<T>(), to.as<T>(), all[0], all[1], all.subspan(2));
  else
    copy_runs(from.as<T>(), to.as<T>(), all[0], all.subspan(1));
}

}  // namespace

void copy_strided(const View& from, const View& to) {
  if (count(from.shape()) == 0) return;
  visit_width(size_of(from.dtype()), [&]<class T>() { copy_typed<T>(from, to); });
}

}  // namespace plimsoll
