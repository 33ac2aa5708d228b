#include "ops/indexing/common/select.h"

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "core/cuda/sort.h"
#include "ops/common/reduce_axes.h"
#include "ops/indexing/common/ids.h"

namespace plimsoll {
namespace {

// Positions sorted by their id, in order within one: those of v are positions[starts[v]] up to
// positions[starts[v + 1]]. A counting sort.
template <class Id>
void sort_positions(const Id* id, int64_t k, int64_t n, int64_t* starts, int64_t* positions) {
  std::fill_n(starts, n + 1, int64_t{0});
  for (int64_t i = 0; i < k; ++i) ++starts[id[i] + 1];
  for (int64_t v = 0; v < n; ++v) starts[v + 1] += starts[v];
  // Filling moves each start to the start of the next id; then they are moved back.
  for (int64_t i = 0; i < k; ++i) positions[starts[id[i]]++] = i;
  for (int64_t v = n; v > 0; --v) starts[v] = starts[v - 1];
  starts[0] = 0;
}

}  // namespace

void select_rows(const View& x, const View& ids, int axis, const View& y) {
  const MiddleAxis a = middle_axis(x.shape(), axis);
  const int64_t k = count(ids.shape()), bytes = a.inner * size_of(x.dtype());
  const auto* from = x.as<std::byte>();
  auto* to = y.as<std::byte>();
  visit_ids(ids, [&](const auto* id) {
    parallel_for(a.outer * k, grain_for(a.inner), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        std::copy_n(from + (row / k * a.mid + id[row % k]) * bytes, bytes, to + row * bytes);
    });
  });
}

void add_rows(const View& dy, const View& ids, int axis, std::span<std::byte> scratch,
              const View& dx, const View* others) {
  constexpr int64_t kBlock = 64;  // columns added up together, in registers or the nearest cache
  const MiddleAxis a = middle_axis(dx.shape(), axis);
  const int64_t n = a.mid, k = count(ids.shape()), width = a.inner;
  int64_t* starts = reinterpret_cast<int64_t*>(scratch.data());
  int64_t* positions = starts + n + 1;
  visit_ids(ids, [&](const auto* id) { sort_positions(id, k, n, starts, positions); });
  const int64_t blocks = pieces(width, kBlock);
  const int64_t cost = std::min(kBlock, width) * (1 + k / n);
  visit_floating("add_rows", dx.dtype(), [&]<class T>() {
    const T* from_all = dy.as<T>();
    T* out = dx.as<T>();
    const T* onto_all = others ? others->as<T>() : nullptr;
    parallel_for(a.outer * n * blocks, grain_for(cost), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t row = block / blocks, first = block % blocks * kBlock;
        const int64_t columns = std::min(kBlock, width - first);
        Compute<T> total[kBlock] = {};
        for (int64_t p = starts[row % n]; p < starts[row % n + 1]; ++p) {
          const T* from = from_all + (row / n * k + positions[p]) * width + first;
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i) total[i] += static_cast<Compute<T>>(from[i]);
        }
        T* const sums = out + row * width + first;
        if (onto_all) {
          const T* const onto = onto_all + row * width + first;
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i)
            total[i] =
                static_cast<Compute<T>>(onto[i]) + static_cast<Compute<T>>(narrow<T>(total[i]));
        }
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) sums[i] = narrow<T>(total[i]);
      }
    });
  });
}

int64_t add_rows_bytes(const View& ids, int64_t rows) {
  const int64_t k = count(ids.shape());
  if (ids.device() == Device::cuda) return cuda::sort_bytes(k);
  return (rows + 1 + k) * static_cast<int64_t>(sizeof(int64_t));
}

}  // namespace plimsoll
