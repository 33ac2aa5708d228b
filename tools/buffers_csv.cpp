#include "tools/buffers_csv.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/base/error.h"

namespace plimsoll::tools {
namespace {

constexpr std::string_view kColumns[] = {"id", "lower", "upper", "size"};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<std::string> cells_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string> cells;
  for (;;) {
    const size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    cell.remove_prefix(std::min(cell.find_first_not_of(kBlanks), cell.size()));
    cell = cell.substr(0, cell.find_last_not_of(kBlanks) + 1);
    cells.emplace_back(cell);
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Reads one file: knows where it is, for the messages.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), in_(path) {
    check<DataError>(!std::filesystem::is_directory(path) && in_.good(), path.string(),
                     ": it cannot be read. Name a CSV file.");
  }

  Buffers read() {
    std::vector<std::string> cells;
    check<DataError>(next(cells), path_.string(),
                     ": line 1: the file is empty, expected the header id,lower,upper,size.");
    const std::vector<size_t> at = columns(cells);
    const size_t width = cells.size();
    Buffers buffers;
    while (next(cells)) {
      if (cells.size() != width)
        refuse(cat(cells.size(), " values, expected ", width, " as in the header."));
      add(cells[at[0]], number(cells[at[1]], "lower"), number(cells[at[2]], "upper"),
          number(cells[at[3]], "size"), buffers);
    }
    check<DataError>(!in_.bad(), path_.string(), ": reading failed after line ", line_,
                     ". Is the disk all right?");
    return buffers;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail<DataError>(path_.string(), ": line ", line_, ": ", what);
  }

  // The next line that is not blank. False: there is none.
  bool next(std::vector<std::string>& cells) {
    for (std::string line; std::getline(in_, line);) {
      if (++line_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
      cells = cells_of(line);
      if (cells.size() > 1 || !cells[0].empty()) return true;
    }
    return false;
  }

  // Where the columns are that are needed. One more could change what is asked for, an alignment
  // for example: it is refused.
  std::vector<size_t> columns(const std::vector<std::string>& header) const {
    std::vector<size_t> at;
    for (const std::string_view column : kColumns) {
      const auto found = std::ranges::find(header, column);
      if (found == header.end())
        refuse(cat("no column \"", column, "\", expected the header id,lower,upper,size."));
      at.push_back(found - header.begin());
    }
    for (size_t i = 0; i < header.size(); ++i)
      if (std::ranges::find(at, i) == at.end())
        refuse(cat("column \"", header[i], "\", expected id, lower, upper and size once each."));
    return at;
  }

  int64_t number(const std::string& cell, std::string_view column) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc::result_out_of_range)
      refuse(cat(column, " is ", cell, ", expected a number below 2^63."));
    if (error != std::errc() || end != cell.data() + cell.size())
      refuse(cat(column, " is \"", cell, "\", expected a whole number."));
    return value;
  }

  void add(const std::string& id, int64_t lower, int64_t upper, int64_t size, Buffers& buffers) {
    if (id.empty()) refuse("the id is empty, expected a name.");
    const auto [same, fresh] = line_of_.emplace(id, line_);
    if (!fresh)
      refuse(cat("id ", id, " was given on line ", same->second, ", expected each id once."));
    if (upper <= lower)
      refuse(cat("the lifetime of ", id, " goes from ", lower, " to ", upper,
                 ", expected an upper above lower."));
    if (size < 0) refuse(cat("the size of ", id, " is ", size, ", expected 0 or more bytes."));
    if (size >= std::numeric_limits<int64_t>::max() - bytes_)
      refuse(cat("with the size of ", id, ", ", size,
                 ", the sizes add up to 2^63 - 1 bytes or more, expected less."));
    bytes_ += size;
    buffers.ids.push_back(id);
    buffers.lower.push_back(lower);
    buffers.upper.push_back(upper);
    buffers.size.push_back(size);
  }

  std::filesystem::path path_;
  std::ifstream in_;
  int64_t line_ = 0, bytes_ = 0;
  std::unordered_map<std::string, int64_t> line_of_;
};

}  // namespace

Buffers read_buffers(const std::filesystem::path& path) { return Reader(path).read(); }

BufferBoxes boxes_of(const Buffers& buffers) {
  std::map<int64_t, int> instant;
  for (size_t i = 0; i < buffers.count(); ++i)
    instant.emplace(buffers.lower[i], 0), instant.emplace(buffers.upper[i], 0);
  int next = 0;
  for (auto& [time, number] : instant) number = next++;
  BufferBoxes result;
  for (size_t i = 0; i < buffers.count(); ++i) {
    if (buffers.size[i] == 0) continue;
    result.boxes.push_back({.bytes = buffers.size[i],
                            .begin = instant[buffers.lower[i]],
                            .end = instant[buffers.upper[i]]});
    result.buffer.push_back(i);
  }
  return result;
}

std::string offsets_csv(const Buffers& buffers, const std::vector<int64_t>& offsets) {
  std::string text = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < buffers.count(); ++i)
    text += cat(buffers.ids[i], ",", buffers.lower[i], ",", buffers.upper[i], ",", buffers.size[i],
                ",", offsets[i], "\n");
  return text;
}

}  // namespace plimsoll::tools
