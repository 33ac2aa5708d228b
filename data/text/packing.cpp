#include "data/text/packing.h"

#include <algorithm>
#include <numeric>

#include "core/base/ignored_label.h"

namespace plimsoll::data {

std::vector<std::vector<size_t>> rows_of(const std::vector<int64_t>& lengths, int64_t length,
                                         Fit fit) {
  check<ValueError>(length >= 1, "pack: a row has no room: ", length,
                    ". Use a length of 1 or more.");
  for (size_t i = 0; i < lengths.size(); ++i)
    check<DataError>(lengths[i] >= 1 && lengths[i] <= length, "pack: document ", i, " has ",
                     lengths[i], " tokens, for rows of ", length,
                     ". Cut it, leave it out, or use longer rows.");
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (fit == Fit::first)
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<size_t>> rows;
  std::vector<int64_t> room;  // of each row
  for (const size_t document : order) {
    size_t row = fit == Fit::first || rows.empty() ? 0 : rows.size() - 1;
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

PackedRows::PackedRows(std::vector<std::vector<int32_t>> documents, const PackingOptions& options)
    : documents_(std::move(documents)), options_(options) {
  check<ValueError>(options.batch >= 1, "pack: a batch has no rows: ", options.batch,
                    ". Use 1 or more.");
  std::vector<int64_t> lengths;
  for (const auto& document : documents_) lengths.push_back(std::ssize(document));
  rows_ = rows_of(lengths, options.length, options.fit);
}

PackedBatch PackedRows::batch(int64_t index) const {
  check<IndexError>(index >= 0 && index < batches(), "pack: there is no batch ", index,
                    ": there are ", batches(), ". Count them from 0.");
  const auto elements = static_cast<size_t>(options_.batch * options_.length);
  std::vector<int64_t> x(elements, options_.padding), labels(elements, kIgnoredLabel);
  std::vector<int64_t> segments(elements), positions(elements);
  for (int64_t r = 0; r < options_.batch; ++r) {
    const int64_t row = index * options_.batch + r;
    auto at = static_cast<size_t>(r * options_.length);
    const size_t end = at + static_cast<size_t>(options_.length);
    int64_t segment = 0;
    const auto put = [&](int64_t position) {
      segments[at] = segment;
      positions[at] = position;
      ++at;
    };
    if (row < rows())
      for (const size_t document : rows_[static_cast<size_t>(row)]) {
        const std::vector<int32_t>& tokens = documents_[document];
        for (size_t i = 0; i < tokens.size(); ++i) {
          x[at] = tokens[i];
          if (i + 1 < tokens.size()) labels[at] = tokens[i + 1];
          put(static_cast<int64_t>(i));
        }
        ++segment;
      }
    for (int64_t i = 0; at < end; ++i) put(i);
  }
  const Shape shape{options_.batch, options_.length};
  const auto tensor = [&](const std::vector<int64_t>& values) {
    return Tensor::of(std::span<const int64_t>(values), shape);
  };
  return {tensor(x), tensor(labels), tensor(segments), tensor(positions)};
}

double PackedRows::filled() const {
  int64_t tokens = 0;
  for (const auto& document : documents_) tokens += std::ssize(document);
  return rows_.empty()
             ? 0
             : static_cast<double>(tokens) / static_cast<double>(rows() * options_.length);
}

}  // namespace plimsoll::data
