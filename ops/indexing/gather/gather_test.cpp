#include "ops/indexing/gather/gather.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Calls f(place in ids, place in x) for every id, in order; x may be larger beside the axis.
template <class F>
void each(const Array& ids, const Shape& x, int axis, F f) {
  const Shape& shape = ids.shape;
  for (int64_t i = 0; i < count(shape); ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (int a = shape.rank() - 1; a >= 0; --a) {
      at += (a == axis ? static_cast<int64_t>(ids[i]) : rest % shape[a]) * step;
      rest /= shape[a];
      step *= x[a];
    }
    f(i, at);
  }
}

OpCase gathers(const char* name, Shape x, InputSpec ids, int axis) {
  return {.name = name,
          .inputs = {real(x), ids},
          .call = [=](auto in) { return std::vector{gather(in[0], axis, in[1])}; },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y(in[1].shape);
                each(in[1], x, axis, [&](int64_t i, int64_t at) { y[i] = in[0][at]; });
                return std::vector{y};
              }};
}

OpCase scatters(const char* name, Shape x, InputSpec ids, Shape src, int axis) {
  return {.name = name,
          .inputs = {real(x), ids, real(src)},
          .call = [=](auto in) { return std::vector{scatter_add(in[0], axis, in[1], in[2])}; },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y = in[0];
                each(in[1], x, axis, [&](int64_t i, int64_t at) {
                  int64_t rest = i, from = 0, step = 1;
                  for (int a = src.rank() - 1; a >= 0; --a) {
                    from += rest % in[1].size(a) * step;
                    rest /= in[1].size(a);
                    step *= src[a];
                  }
                  y[at] += in[2][from];
                });
                return std::vector{y};
              }};
}

// More ids than a GPU counts at once; too many to be differentiated numerically.
OpCase many() {
  OpCase c = scatters("scatter_many", {5000}, index({70000}, 5000), {70000}, 0);
  c.differentiable = false;
  return c;
}

OpCase selects(const char* name, Shape x, InputSpec ids, int axis) {
  return {.name = name,
          .inputs = {real(x), ids},
          .call = [=](auto in) { return std::vector{index_select(in[0], axis, in[1])}; },
          .reference =
              [=](const std::vector<Array>& in) {
                const int64_t k = in[1].size(0);
                Shape shape = x;
                shape[axis] = k;
                Array y(shape);
                int64_t inner = 1;
                for (int a = axis + 1; a < x.rank(); ++a) inner *= x[a];
                for (int64_t i = 0; i < count(shape); ++i) {
                  const int64_t row = i / inner;
                  const auto id = static_cast<int64_t>(in[1][row % k]);
                  y[i] = in[0][(row / k * x[axis] + id) * inner + i % inner];
                }
                return std::vector{y};
              }};
}

OpCase hot(const char* name, InputSpec ids, int64_t classes, DType dtype) {
  return {.name = name,
          .inputs = {ids},
          .call = [=](auto in) { return std::vector{one_hot(in[0], classes, dtype)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                Shape shape = ids.shape;
                shape.push_back(classes);
                Array y(shape);
                for (int64_t i = 0; i < count(ids.shape); ++i)
                  y[i * classes + static_cast<int64_t>(in[0][i])] = 1;
                return std::vector{y};
              },
          .differentiable = false};
}

Tensor ids(std::initializer_list<int64_t> values, const Shape& shape) {
  return Tensor::of<int64_t>(values, shape);
}

std::vector<BadCase> refusals() {
  return {{"gather id",
           [] {
             gather(ones({2, 3}), 1, ids({0, 2, 3, 0}, {2, 2}));
           },
           "gather: an id is out of range: 3 at position 2 for a size of 3. Use ids from 0 and "
           "below 3."},
          {"gather sizes",
           [] {
             gather(ones({2, 3}), 1, ids({0, 0, 0}, {3, 1}));
           },
           "gather: the ids do not fit the tensor: [3, 1] for [2, 3] along axis 1. The other sizes "
           "of ids must be at most the tensor's."},
          {"gather type", [] { gather(ones({2}), 0, ones({2})); },
           "gather: the ids are not integers: f32 [2] on cpu. Cast them to i64 or i32."},
          {"scatter id",
           [] {
             scatter_add(ones({3}), 0, ids({0, -1}, {2}), ones({2}));
           },
           "scatter_add: an id is out of range: -1 at position 1 for a size of 3. Use ids from 0 "
           "and below 3."},
          {"scatter src",
           [] {
             scatter_add(ones({3}), 0, ids({0, 1}, {2}), ones({1}));
           },
           "scatter_add: the ids do not fit src: [2] for [1]. Their sizes must be at most those of "
           "src."},
          {"scatter src rank",
           [] {
             scatter_add(ones({3}), 0, ids({0, 1}, {2}), ones({2, 1}));
           },
           "scatter_add: the ids do not fit src: [2] for [2, 1]. Their sizes must be at most those "
           "of src."},
          {"scatter to nothing", [] { scatter_add(ones({0}), 0, ids({3}, {1}), ones({1})); },
           "scatter_add: no id is in range: ids [1] for axis 0 of [0], which is empty. Leave the "
           "ids empty too."},
          {"scatter types",
           [] { scatter_add(ones({3}), 0, ids({0}, {1}), ones({1}, {.dtype = DType::f64})); },
           "scatter_add: the tensors are not of one floating type: f32 [3] on cpu and f64 [1] on "
           "cpu. Cast one of them."},
          {"select id",
           [] {
             index_select(ones({2, 3}), 0, ids({1, 2}, {2}));
           },
           "index_select: an id is out of range: 2 at position 1 for a size of 2. Use ids from 0 "
           "and below 2."},
          {"select matrix",
           [] {
             index_select(ones({2}), 0, ids({0}, {1, 1}));
           },
           "index_select: the ids are not a list: [1, 1]. Give them one axis, or use gather."},
          {"hot id",
           [] {
             one_hot(ids({1, 4}, {2}), 4);
           },
           "one_hot: an id is out of range: 4 at position 1 for a size of 4. Use ids from 0 and "
           "below 4."},
          {"hot classes", [] { one_hot(ids({0}, {1}), 0); },
           "one_hot: the number of classes is not positive: 0. Use the largest id plus 1, or "
           "more."}};
}

}  // namespace

OpCases gather_cases() {
  OpCase narrow = gathers("i32", {3, 4}, index({3, 2}, 4), 1);
  narrow.call = [](auto in) { return std::vector{gather(in[0], 1, cast(in[1], DType::i32))}; };
  return {.good = {gathers("gather_last", {3, 4}, index({3, 6}, 4), 1),
                   gathers("gather_first", {5, 3}, index({7, 3}, 5), 0),
                   gathers("gather_middle", {2, 4, 3}, index({2, 5, 3}, 4), 1),
                   gathers("gather_smaller", {3, 4, 5}, index({2, 6, 3}, 4), 1),
                   gathers("gather_wide", {3, 130}, index({4, 129}, 3), 0),
                   gathers("gather_list", {5}, index({3}, 5), 0),
                   gathers("gather_nothing", {3, 4}, index({3, 0}, 4), 1),
                   narrow,
                   scatters("scatter_last", {3, 5}, index({3, 4}, 5), {3, 4}, 1),
                   scatters("scatter_first", {4, 3}, index({6, 3}, 4), {6, 3}, 0),
                   scatters("scatter_middle", {2, 3, 4}, index({2, 5, 4}, 3), {2, 5, 4}, 1),
                   scatters("scatter_smaller", {3, 4, 5}, index({2, 6, 3}, 4), {3, 7, 3}, 1),
                   scatters("scatter_wide", {3, 130}, index({4, 129}, 3), {4, 129}, 0),
                   scatters("scatter_one_place", {2}, index({200}, 1), {200}, 0),
                   many(),
                   scatters("scatter_nothing", {3, 4}, index({3, 0}, 4), {3, 0}, 1),
                   selects("select_rows", {5, 3}, index({7}, 5), 0),
                   selects("select_columns", {3, 5}, index({4}, 5), 1),
                   selects("select_middle", {2, 5, 3}, index({6}, 5), 1),
                   selects("select_wide", {3, 130}, index({5}, 3), 0),
                   selects("select_one_row", {2, 3}, index({90}, 1), 0),
                   selects("select_list", {5}, index({3}, 5), 0),
                   selects("select_nothing", {5, 3}, index({0}, 5), 0),
                   hot("hot", index({2, 3}, 5), 5, DType::f32),
                   hot("hot_scalar", index({}, 3), 3, DType::i64),
                   hot("hot_narrow", index({4}, 3), 4, DType::bf16),
                   hot("hot_boolean", index({4}, 3), 3, DType::boolean),
                   hot("hot_nothing", index({0}, 3), 3, DType::f64)},
          .bad = refusals()};
}

}  // namespace plimsoll
