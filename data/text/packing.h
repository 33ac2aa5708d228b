// Packing: whole documents of many lengths laid out in rows of one length, so that little of a
// batch is padding.
//
//   const std::vector<std::vector<int32_t>> documents = ...;           // tokens
//   const PackedRows rows = pack(documents, {.length = 512, .batch = 8});
//   for (int64_t b = 0; b < rows.batches(); ++b) {
//     const PackedBatch batch = rows.batch(b);                         // [8, 512] each
//     Tensor y = model(batch.x, {.positions = batch.positions, .segments = batch.segments});
//
// Attention takes the segments (ops/attention/attention), so that no document sees another.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::data {

enum class Fit {
  in_order,  // a row is full where the next document does not fit: the order stays
  first,     // the longest first, each into the first row that has room (Johnson 1973)
};

struct PackingOptions {
  int64_t length = 1024;  // of a row
  int64_t batch = 1;      // rows of a batch
  Fit fit = Fit::first;
  int32_t padding = 0;  // the token behind the last document of a row
};

// The numbers of the documents of each row, in their order there. ValueError for a length below 1,
// DataError for a document that is longer or empty.
std::vector<std::vector<size_t>> rows_of(const std::vector<int64_t>& lengths, int64_t length,
                                         Fit fit);

// Tensors i64 [batch, length]. A label is the token that follows in the same document, and
// kIgnoredLabel at its end and in padding. Segments count the documents of a row from 0; padding is
// one more. Positions count from 0 in each document.
struct PackedBatch {
  Tensor x, labels, segments, positions;
};

class PackedRows {
 public:
  PackedRows(std::vector<std::vector<int32_t>> documents, const PackingOptions& options);

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  int64_t batches() const { return (rows() + options_.batch - 1) / options_.batch; }
  // Rows that the last batch lacks are padding. IndexError for one that there is not.
  PackedBatch batch(int64_t index) const;
  // The share of all positions that a document fills.
  double filled() const;

 private:
  std::vector<std::vector<int32_t>> documents_;
  PackingOptions options_;
  std::vector<std::vector<size_t>> rows_;
};

// Errors: those of rows_of(); ValueError for a batch below 1.
inline PackedRows pack(std::vector<std::vector<int32_t>> documents, const PackingOptions& options) {
  return {std::move(documents), options};
}

}  // namespace plimsoll::data
