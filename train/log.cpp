#include "train/log.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "data/atomic_file.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJsonStart = "{\"batches\": ";

// The lines of a file that are whole, begin with `start` and a number, and have none above `most`.
std::string rows_until(const fs::path& file, std::string_view start, int64_t most) {
  std::string kept;
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line) && !in.eof();) {  // at its end: no line break
    if (!line.starts_with(start)) continue;
    int64_t batches = 0;
    const char* const number = line.data() + start.size();
    const auto [end, error] = std::from_chars(number, line.data() + line.size(), batches);
    if (error == std::errc() && end > number && batches <= most) kept += line + '\n';
  }
  return kept;
}

std::ofstream append_to(const fs::path& file, const std::string& rows) {
  data::write_atomically(file, rows);
  return std::ofstream(file, std::ios::binary | std::ios::app);
}

void write(std::ofstream& out, const fs::path& file, const std::string& row) {
  out << row << std::flush;
  check<DataError>(out.good(), "log: writing failed: ", file.string(),
                   ". Look at its folder and the space on the disk.");
}

}  // namespace

Log::Log(const fs::path& folder, std::vector<std::string> columns, int64_t batches)
    : csv_name_(folder / "log.csv"),
      json_name_(folder / "metrics.jsonl"),
      columns_(std::move(columns)) {
  std::string header = "batches";
  for (const std::string& column : columns_) header += "," + column;
  csv_ = append_to(csv_name_, header + "\n" + rows_until(csv_name_, "", batches));
  json_ = append_to(json_name_, rows_until(json_name_, kJsonStart, batches));
}

void Log::row(int64_t batches, std::initializer_list<std::pair<const char*, double>> values) {
  std::string csv = cat(batches), json = cat(kJsonStart, batches);
  size_t used = 0;
  for (const std::string& column : columns_) {
    csv += ',';
    const auto value = std::ranges::find(values, column, &std::pair<const char*, double>::first);
    if (value == values.end()) continue;
    ++used;
    csv += cat(value->second);
    json += cat(", \"", column,
                "\": ", std::isfinite(value->second) ? cat(value->second) : std::string("null"));
  }
  check<ValueError>(used == values.size(), "log: a value has no column: ", values.size() - used,
                    " of ", values.size(), ". Name all columns when the log is made.");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  write(csv_, csv_name_, csv + "\n");
  write(json_, json_name_, cat(json, ", \"time\": ", static_cast<double>(ms) / 1000, "}\n"));
}

}  // namespace plimsoll::train
