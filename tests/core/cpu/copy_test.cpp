// Strided copies, element by element beside the plainest loop: every order of the axes, steps
// backwards, rows of a larger tensor, axes that repeat, sizes around those of squares, vectors and
// pieces of work.
#include "core/cpu/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/base/text.h"
#include "core/cpu/threads.h"

namespace plimsoll {
namespace {

template <class T>
class CopyStrided : public testing::Test {};
using Types = testing::Types<uint8_t, Half, float, double>;
TYPED_TEST_SUITE(CopyStrided, Types);

struct Laid {
  int64_t first = 0, elements = 1;
  Strides strides;
};

// A shape in memory with its axes in an order of chance, room between rows, some of them backwards,
// and some, where it is read, the same for every index.
Laid laid_out(const Shape& shape, bool repeats, std::mt19937& random) {
  std::vector<int> order(static_cast<size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  Laid laid{.strides = shape};
  for (const int axis : order) {
    if (repeats && random() % 8 == 0) {
      laid.strides[axis] = 0;
      continue;
    }
    laid.strides[axis] = laid.elements;
    laid.elements *= shape[axis] + static_cast<int64_t>(random() % 3 == 0);
    if (random() % 4 > 0) continue;
    laid.first += (shape[axis] - 1) * laid.strides[axis];
    laid.strides[axis] = -laid.strides[axis];
  }
  return laid;
}

TYPED_TEST(CopyStrided, GivesWhatALoopGives) {
  using T = TypeParam;
  const std::vector<int64_t> sizes{1, 2, 3, 8, 16, 31, 63, 64, 65, 130, 300, 17'000, 40'000};
  const int threads = num_threads();
  set_num_threads(3);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto rank = static_cast<int>(random() % (i % 2 ? 4 : kMaxRank + 1));
    Shape shape(std::vector<int64_t>(static_cast<size_t>(rank), 1));
    for (int64_t room = 100'000, axis = 0; axis < rank; ++axis) {
      shape[static_cast<int>(axis)] = std::min(room, sizes[random() % sizes.size()]);
      room /= shape[static_cast<int>(axis)];
    }
    const Laid a = laid_out(shape, true, random), b = laid_out(shape, false, random);
    std::vector<T> from(static_cast<size_t>(a.elements)),
        to(static_cast<size_t>(b.elements), static_cast<T>(7)), expected = to;
    for (size_t k = 0; k < from.size(); ++k) from[k] = static_cast<T>(k % 251);
    std::vector<int64_t> places;
    for_each_offset(shape, a.strides, [&](int64_t at) { places.push_back(a.first + at); });
    size_t next = 0;
    for_each_offset(shape, b.strides, [&](int64_t at) {
      expected[static_cast<size_t>(b.first + at)] = from[static_cast<size_t>(places[next++])];
    });
    const Meta meta{shape, dtype_of<T>};
    copy_strided({from.data() + a.first, meta, a.strides}, {to.data() + b.first, meta, b.strides});
    ASSERT_TRUE(std::ranges::equal(
        to, expected, [](T x, T y) { return static_cast<double>(x) == static_cast<double>(y); }))
        << cat(shape) << ", run " << i;
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace plimsoll
