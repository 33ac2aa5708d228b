#include "train/log/log.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "data/atomic_file.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetrics = "metrics.jsonl";

// The batches that a row is about: its first number in the table, a field of the object; -1: none.
int64_t batches_of(const std::string& row, bool json) {
  int64_t batches = -1;
  if (json) {
    const auto object = nlohmann::json::parse(row, nullptr, /*allow_exceptions=*/false);
    const bool known = object.is_object() && object.contains("batches");
    return known && object["batches"].is_number_integer() ? object["batches"].get<int64_t>() : -1;
  }
  const auto parsed = std::from_chars(row.data(), row.data() + row.size(), batches);
  return parsed.ec == std::errc() ? batches : -1;
}

// The rows of a file that are whole and about at most `most` batches.
std::string rows_until(const fs::path& file, bool json, int64_t most) {
  std::string kept;
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line) && !in.eof();) {  // at its end: no line break
    const int64_t batches = batches_of(line, json);
    if (0 <= batches && batches <= most) kept += line + '\n';
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

std::vector<LogRow> read_log(const fs::path& folder) {
  std::vector<LogRow> rows;
  std::ifstream lines(folder / kMetrics);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("batches")) continue;
    const auto& batches = json["batches"];
    if (!batches.is_number_integer() || batches.get<int64_t>() < 0) continue;
    LogRow& row = rows.emplace_back(LogRow{batches, {}});
    for (const auto& [name, value] : json.items()) {
      if (name == "batches" || name == "time") continue;
      Figures& figures =
          std::ranges::find(kMeasured, name) == std::end(kMeasured) ? row.figures : row.measured;
      figures.emplace_back(name, value.is_number() ? value.get<double>() : std::nan(""));
    }
  }
  return rows;
}

Log::Log(const fs::path& folder, std::vector<std::string> columns, int64_t batches)
    : csv_name_(folder / "log.csv"), json_name_(folder / kMetrics), columns_(std::move(columns)) {
  std::string header = "batches";
  for (const std::string& column : columns_) header += "," + column;
  csv_ = append_to(csv_name_, header + "\n" + rows_until(csv_name_, /*json=*/false, batches));
  json_ = append_to(json_name_, rows_until(json_name_, /*json=*/true, batches));
}

void Log::row(int64_t batches, const Figures& values, const Figures& measured) {
  std::string csv = cat(batches);
  nlohmann::ordered_json json = {{"batches", batches}};
  size_t used = 0;
  for (const std::string& column : columns_) {
    csv += ',';
    const auto value = std::ranges::find(values, column, &std::pair<std::string, double>::first);
    if (value == values.end()) continue;
    ++used;
    csv += cat(value->second);
    json[column] = value->second;  // written as null when it is not finite
  }
  check<ValueError>(used == values.size(), "log: a value has no column: ", values.size() - used,
                    " of ", values.size(), ". Name all columns when the log is made.");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  write(csv_, csv_name_, csv + "\n");
  for (const auto& [name, value] : measured)
    if (const double whole = std::round(value); whole == value && std::abs(value) < 1e15)
      json[name] = static_cast<int64_t>(whole);  // bytes
    else
      json[name] = value;
  json["time"] = static_cast<double>(ms) / 1000;
  write(json_, json_name_, json.dump() + "\n");
}

}  // namespace plimsoll::train
