#include "data/text/packing.h"

#include <algorithm>
#include <numeric>

#include "core/base/ignored_label.h"

namespace plimsoll::data {

Document next_tokens(std::span<const int32_t> ids) {
  Document document{{ids.begin(), ids.end()}, {}};
  if (ids.empty()) return document;
  document.labels.assign(ids.begin() + 1, ids.end());
  document.labels.push_back(kIgnoredLabel);
  return document;
}

std::vector<std::vector<size_t>> rows_of(const std::vector<int64_t>& lengths, int64_t length) {
  check<ValueError>(length >= 1, "pack: a row has no room: ", length,
                    ". Use a length of 1 or more.");
  for (size_t i = 0; i < lengths.size(); ++i)
    check<DataError>(lengths[i] >= 1 && lengths[i] <= length, "pack: document ", i, " has ",
                     lengths[i], " tokens, for rows of ", length,
                     ". Cut it, leave it out, or use longer rows.");
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<size_t>> rows;
  std::vector<int64_t> room;  // of each row
  for (const size_t document : order) {
    size_t row = 0;
    while (row < rows.size() && room[row] < lengths[document]) ++row;
    if (row == rows.size()) {
      rows.emplace_back();
      room.push_back(length);
    }
    rows[row].push_back(document);
    room[row] -= lengths[document];
  }
  return rows;
}

PackedRows::PackedRows(std::vector<Document> documents, int64_t length)
    : documents_(std::move(documents)), length_(length) {
  std::vector<int64_t> lengths;
  for (const auto& [ids, labels] : documents_) {
    check<DataError>(ids.size() == labels.size(), "pack: document ", lengths.size(), " has ",
                     labels.size(), " labels for ", ids.size(),
                     " tokens. Give each its label, kIgnoredLabel where none counts.");
    lengths.push_back(std::ssize(ids));
  }
  rows_ = rows_of(lengths, length);
}

Batch PackedRows::batch(std::span<const int64_t> which, Device device) const {
  const auto length = static_cast<size_t>(length_);
  std::vector<int64_t> x(which.size() * 3 * length), y(which.size() * length, kIgnoredLabel);
  for (size_t r = 0; r < which.size(); ++r) {
    check<IndexError>(which[r] >= 0 && which[r] < count(), "pack: there is no row ", which[r],
                      ": there are ", count(), ". Count them from 0.");
    const std::span<int64_t> row = std::span(x).subspan(r * 3 * length, 3 * length);
    const auto tokens = row.subspan(0, length), segments = row.subspan(length, length),
               positions = row.subspan(2 * length, length);
    size_t at = 0;
    const auto put = [&](int64_t segment, size_t size) {
      std::ranges::fill(segments.subspan(at, size), segment);
      const auto own = positions.subspan(at, size);
      std::iota(own.begin(), own.end(), 0);
      at += size;
    };
    int64_t segment = 0;
    for (const size_t i : rows_[static_cast<size_t>(which[r])]) {
      const Document& document = documents_[i];
      std::ranges::copy(document.ids, tokens.subspan(at).begin());
      std::ranges::copy(document.labels, std::span(y).subspan(r * length + at).begin());
      put(segment++, document.ids.size());
    }
    put(segment, length - at);  // padding
  }
  const MemoryScope scope(MemoryClass::input);
  const auto rows = static_cast<int64_t>(which.size());
  return {Tensor::of(std::span<const int64_t>(x), {rows, 3, length_}, device),
          Tensor::of(std::span<const int64_t>(y), {rows, length_}, device)};
}

}  // namespace plimsoll::data
