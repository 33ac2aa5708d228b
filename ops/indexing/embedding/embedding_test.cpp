#include "ops/indexing/embedding/embedding.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const std::vector<Array>& in) {
  const int64_t features = in[0].size(1);
  Shape shape = in[1].shape;
  shape.push_back(features);
  Array y(shape);
  for (int64_t i = 0; i < count(in[1].shape); ++i)
    for (int64_t d = 0; d < features; ++d)
      y[i * features + d] = in[0][static_cast<int64_t>(in[1][i]) * features + d];
  return {y};
}

OpCase look_up(const char* name, InputSpec table, InputSpec ids, DType id_type = DType::i64) {
  return {
      .name = name,
      .inputs = {table, ids},
      .call = [id_type](auto in) { return std::vector{embedding(in[0], cast(in[1], id_type))}; },
      .reference = reference};
}

Tensor ids(std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(values, {static_cast<int64_t>(values.size())});
}

}  // namespace

OpCases embedding_cases() {
  return {
      .good =
          {look_up("tokens", real({11, 5}), index({3, 4}, 11)),
           look_up("narrow_ids", real({11, 5}), index({2, 3}, 11), DType::i32),
           look_up("one_id", real({3, 4}), given_index({}, {2})),
           look_up("repeated", real({2, 3}), given_index({9}, {1, 1, 0, 1, 1, 1, 0, 1, 1})),
           look_up("two_blocks", real({3, 67}), index({7}, 3)),
           look_up("many_rows", real({300, 2}), index({5}, 300)),
           look_up("no_ids", real({3, 4}), given_index({2, 0}, {})),
           {.name = "tied",
            .inputs = {real({6, 4}), index({5}, 6), index({3, 2}, 6)},
            .call =
                [](auto in) {
                  return std::vector{embedding(in[0], in[1]), embedding(in[0], in[2])};
                },
            .reference =
                [](const std::vector<Array>& in) {
                  return std::vector{reference({in[0], in[1]})[0], reference({in[0], in[2]})[0]};
                }},
           look_up("no_features", real({3, 0}), index({2}, 3)),
           look_up("empty_table", real({0, 4}), given_index({0}, {}))},
      .bad = {
          {"above",
           [] {
             embedding(ones({3, 2}), ids({0, 1, 3}));
           },
           "embedding: an id is out of range: 3 at position 2 for a size of 3. Use ids from 0 and "
           "below 3."},
          {"below",
           [] {
             embedding(ones({3, 2}), cast(ids({0, -1}), DType::i32));
           },
           "embedding: an id is out of range: -1 at position 1 for a size of 3. Use ids from 0 and "
           "below 3."},
          {"table", [] { embedding(ones({3}), ids({0})); },
           "embedding: the table is not a matrix: [3]. Give it the shape [rows, features]."},
          {"id_type",
           [] {
             embedding(ones({3, 2}), ones({2}));
           },
           "embedding: the ids are not integers: f32 [2] on cpu. Cast them to i64 or i32."},
          {"table_type",
           [] {
             embedding(ids({1, 2}), ids({0}));
           },
           "embedding: the table is not of a floating type: i64 [2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
