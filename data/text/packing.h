// Packing: whole documents of many lengths laid out in rows of one length, so that little of a
// batch is padding.
//
//   std::vector<Document> documents;              // documents.push_back(next_tokens(ids)); ...
//   const PackedRows rows(std::move(documents), 512);
//   const Batch batch = rows.batch(std::array<int64_t, 2>{0, 1});     // x [2, 3, 512], y [2, 512]
//   Tensor y = packed(batch.x, nn::training());                       // nn::Packed
//
// The longest lies first, each in the first row that has room (Johnson 1973). Attention takes the
// segments (ops/attention/attention), so that no document sees another.
#pragma once

#include <span>
#include <vector>

#include "data/batch.h"

namespace plimsoll::data {

struct Document {
  std::vector<int64_t> ids, labels;  // one label for each token
};
// Each token's label is the one that follows it; the last has kIgnoredLabel.
Document next_tokens(std::span<const int32_t> ids);

// The numbers of the documents of each row, in their order there. ValueError for a length below 1,
// DataError for a document that is longer or empty.
std::vector<std::vector<size_t>> rows_of(const std::vector<int64_t>& lengths, int64_t length);

class PackedRows {
 public:
  // Errors: those of rows_of(); DataError for a document that has not as many labels as tokens.
  PackedRows(std::vector<Document> documents, int64_t length);

  const std::vector<Document>& documents() const { return documents_; }
  int64_t count() const { return std::ssize(rows_); }
  // These rows: x i64 [B, 3, T], y i64 [B, T]. x[:, 0] are tokens, 0 in padding; x[:, 1] counts the
  // documents of a row from 0, padding being one more; x[:, 2] counts from 0 in each of them.
  // Labels of padding are kIgnoredLabel. IndexError for a row that there is not.
  Batch batch(std::span<const int64_t> rows, Device device = Device::cpu) const;

 private:
  std::vector<Document> documents_;
  int64_t length_;
  std::vector<std::vector<size_t>> rows_;
};

}  // namespace plimsoll::data
