#include "ops/indexing/write_rows/write_rows.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Inputs: what is written into, rows, ids.
OpCase writes(const char* name, InputSpec into, InputSpec rows, InputSpec ids) {
  return {.name = name,
          .inputs = {into, rows, ids},
          .call =
              [](auto in) {
                const Tensor y = clone(in[0].detach());
                write_rows(y, in[1].detach(), in[2]);
                return std::vector{y};
              },
          .reference =
              [](const std::vector<Array>& in) {
                Array y = in[0];
                const int64_t places = y.size(1), n = in[2].size(0);
                const int64_t width = count(y.shape) / std::max<int64_t>(1, y.size(0) * places);
                for (int64_t b = 0; b < y.size(0); ++b)
                  for (int64_t t = 0; t < n; ++t)
                    for (int64_t e = 0; e < width; ++e)
                      y[(b * places + static_cast<int64_t>(in[2][t])) * width + e] =
                          in[1][(b * n + t) * width + e];
                return std::vector{y};
              },
          .differentiable = false};
}

OpCase writes_as(const char* name, DType dtype, DType ids = DType::i64) {
  OpCase c = writes(name, index({2, 5, 3}, 2), index({2, 2, 3}, 2), given_index({2}, {4, 1}));
  c.call = [=](auto in) {
    const Tensor y = clone(cast(in[0], dtype));  // the inputs are integers anyway
    write_rows(y, cast(in[1], dtype), cast(in[2], ids));
    return std::vector{y};
  };
  c.dtypes = {DType::f32};
  return c;
}

// The middle third of the heads, as keys lie among queries and values: not copied.
OpCase slices() {
  OpCase c = writes("slices", real({2, 6, 2, 3}), real({2, 2, 6, 3}), given_index({2}, {3, 4}));
  c.call = [](auto in) {
    const Tensor y = clone(in[0].detach());
    write_rows(y, slice(in[1].detach(), 2, 2, 4), in[2]);
    return std::vector{y};
  };
  c.reference = [whole = c.reference](std::vector<Array> in) {
    Array keys({2, 2, 2, 3});
    for (int64_t e = 0; e < count(keys.shape); ++e) keys[e] = in[1][e / 6 * 18 + 6 + e % 6];
    in[1] = keys;
    return whole(in);
  };
  return c;
}

OpCase turned() {
  OpCase c = writes("turned", real({2, 5, 3}), real({2, 3, 2}), given_index({2}, {2, 0}));
  c.call = [](auto in) {
    const Tensor y = clone(in[0].detach());
    write_rows(y, transpose(in[1].detach()), in[2]);
    return std::vector{y};
  };
  c.reference = [whole = c.reference](std::vector<Array> in) {
    Array rows({2, 2, 3});
    for (int64_t e = 0; e < 12; ++e) rows[e] = in[1][e / 6 * 6 + e % 3 * 2 + e / 3 % 2];
    in[1] = rows;
    return whole(in);
  };
  return c;
}

void write(Shape into, Shape rows, const Tensor& ids, DType dtype = DType::f32) {
  write_rows(zeros(into), ones(rows, {.dtype = dtype}), ids);
}

}  // namespace

OpCases write_rows_cases() {
  const auto ids = [](std::initializer_list<int64_t> values) {
    return Tensor::of<int64_t>(values, {static_cast<int64_t>(values.size())});
  };
  return {
      .good = {writes("heads", real({2, 7, 2, 3}), real({2, 3, 2, 3}), given_index({3}, {4, 0, 5})),
               writes("one", real({1, 4, 3}), real({1, 1, 3}), given_index({1}, {3})),
               writes("all", real({1, 3, 2}), real({1, 3, 2}), given_index({3}, {0, 1, 2})),
               writes("matrix", real({3, 4}), real({3, 2}), given_index({2}, {1, 3})),
               writes("the_last_stays", real({2, 3, 2}), real({2, 3, 2}),
                      given_index({3}, {1, 1, 0})),
               writes("none", real({2, 3, 2}), real({2, 0, 2}), given_index({0}, {})),
               writes("empty", real({0, 3, 2}), real({0, 1, 2}), given_index({1}, {2})),
               writes("infinite", given({1, 2, 1}, {kNaN, 1}), given({1, 1, 1}, {kInf}),
                      given_index({1}, {1})),
               writes("many_columns", real({2, 3, 3000}), real({2, 2, 3000}),
                      given_index({2}, {2, 0})),
               slices(), turned(), writes_as("i64", DType::i64), writes_as("u8", DType::u8),
               writes_as("i32_ids", DType::i32, DType::i32)},
      .bad = {
          {"range",
           [=] {
             write({1, 4, 2}, {1, 2, 2}, ids({3, 4}));
           },
           "write_rows: an id is out of range: 4 at position 1 for a size of 4. Use ids from 0 and "
           "below 4."},
          {"below",
           [=] {
             write({1, 4, 2}, {1, 1, 2}, ids({-1}));
           },
           "write_rows: an id is out of range: -1 at position 0 for a size of 4. Use ids from 0 "
           "and below 4."},
          {"rows",
           [=] {
             write({1, 4, 2}, {1, 2, 3}, ids({0, 1}));
           },
           "write_rows: the rows do not fit: [1, 2, 3] into [1, 4, 2]. Only the second axes, the "
           "numbers of rows, may differ."},
          {"list", [=] { write({4}, {4}, ids({0})); },
           "write_rows: the rows do not fit: [4] into [4]. Only the second axes, the numbers of "
           "rows, may differ."},
          {"ids",
           [=] {
             write({1, 4, 2}, {1, 2, 2}, ids({0}));
           },
           "write_rows: the ids are not one for each row: [1] for rows [1, 2, 2]. Give them the "
           "shape [2]."},
          {"types",
           [=] {
             write({1, 4, 2}, {1, 1, 2}, ids({0}), DType::f64);
           },
           "write_rows: the types differ: f32 and f64. Cast one of them."},
          {"id_type",
           [=] {
             write({1, 4, 2}, {1, 1, 2}, zeros({1}));
           },
           "write_rows: the ids are not integers: f32 [1] on cpu. Cast them to i64 or i32."}}};
}

}  // namespace plimsoll
