#include "core/cpu/copy.h"

#include <cstring>

#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

// One run along the last axis.
template <class T>
void copy_run(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

template <class T>
void copy_typed(const View& from, const View& to) {
  const Shape& shape = from.shape();
  const int last = shape.rank() - 1;
  const int64_t run = last >= 0 ? shape[last] : 1;
  const int64_t rows = count(shape) / run;
  const int64_t from_step = last >= 0 ? from.strides[last] : 1;
  const int64_t to_step = last >= 0 ? to.strides[last] : 1;
  parallel_for(rows, grain_for(run), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, at_from = 0, at_to = 0;
      for (int axis = last - 1; axis >= 0; --axis) {
        const int64_t index = rest % shape[axis];
        rest /= shape[axis];
        at_from += index * from.strides[axis];
        at_to += index * to.strides[axis];
      }
      copy_run(from.as<T>() + at_from, from_step, to.as<T>() + at_to, to_step, run);
    }
  });
}

}  // namespace

void copy_strided(const View& from, const View& to) {
  if (count(from.shape()) == 0) return;
  visit_width(size_of(from.dtype()), [&]<class T>() { copy_typed<T>(from, to); });
}

}  // namespace plimsoll
