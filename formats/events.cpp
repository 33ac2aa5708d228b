#include "formats/events.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "formats/crc32c.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

// Protobuf's wire format: each field is its number and type, then its value.
enum class Wire : uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <class Word>
void append_word(std::string& out, Word word) {  // least significant byte first
  for (size_t byte = 0; byte < sizeof word; ++byte) out += static_cast<char>(word >> 8 * byte);
}

void append_key(std::string& out, uint64_t number, Wire type) {
  append_varint(out, number << 3 | static_cast<uint64_t>(type));
}

void append_integer(std::string& out, uint64_t number, int64_t value) {
  append_key(out, number, Wire::varint);
  append_varint(out, static_cast<uint64_t>(value));
}

void append_double(std::string& out, uint64_t number, double value) {
  append_key(out, number, Wire::fixed64);
  append_word(out, std::bit_cast<uint64_t>(value));
}

void append_float(std::string& out, uint64_t number, float value) {
  append_key(out, number, Wire::fixed32);
  append_word(out, std::bit_cast<uint32_t>(value));
}

// Text, or a message.
void append_bytes(std::string& out, uint64_t number, std::string_view bytes) {
  append_key(out, number, Wire::bytes);
  append_varint(out, bytes.size());
  out += bytes;
}

void append_doubles(std::string& out, uint64_t number, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) append_word(packed, std::bit_cast<uint64_t>(value));
  append_bytes(out, number, packed);
}

// The numbers of the fields, as event.proto and summary.proto of TensorFlow have them.
struct EventField {
  enum : uint64_t { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
};
struct SessionLogField {
  enum : uint64_t { status = 1 };
};
constexpr int64_t kSessionStart = 1;
struct SummaryField {
  enum : uint64_t { value = 1 };
};
struct ValueField {
  enum : uint64_t { tag = 1, simple_value = 2, histo = 5 };
};
struct HistogramField {
  enum : uint64_t { min = 1, max, num, sum, sum_squares, bucket_limit, bucket };
};

std::string event(int64_t step) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::string out;
  append_double(out, EventField::wall_time, now.count());
  append_integer(out, EventField::step, step);
  return out;
}

// Text as Unicode defines it, which is what the JSON library writes.
bool is_utf8(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::vector<double> default_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

}  // namespace

Histogram histogram(const Tensor& tensor) {
  static const std::vector<double> limits = default_limits();
  std::vector<double> counts(limits.size());
  Histogram result{.min = std::numeric_limits<double>::max(),
                   .max = std::numeric_limits<double>::lowest()};
  for (const double value : tensor.to_vector<double>()) {
    if (!std::isfinite(value)) {
      ++result.not_finite;
      continue;
    }
    const auto above = std::upper_bound(limits.begin(), limits.end() - 1, value);
    ++counts[static_cast<size_t>(above - limits.begin())];
    result.min = std::min(result.min, value);
    result.max = std::max(result.max, value);
    ++result.num;
    result.sum += value;
    result.sum_squares += value * value;
  }
  if (result.num == 0) result.min = result.max = 0;
  for (size_t i = 0; i < counts.size();) {
    size_t last = i;  // of a run of empty buckets
    while (counts[i] == 0 && last + 1 < counts.size() && counts[last + 1] == 0) ++last;
    result.limits.push_back(limits[last]);
    result.counts.push_back(counts[last]);
    i = last + 1;
  }
  return result;
}

EventWriter::EventWriter(const fs::path& folder) {
  static std::atomic<int> number = 0;
  std::error_code error;
  fs::create_directories(folder, error);
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  file_ = folder / cat("events.out.tfevents.", seconds.count(), ".", std::string(host), ".",
                       getpid(), ".", number++);
  out_.open(file_, std::ios::binary);
  check<DataError>(out_.is_open(), "events: the file cannot be made: ", file_.string(),
                   ". Choose a folder that can be written to.");
  std::string first = event(0);
  append_bytes(first, EventField::file_version, "brain.Event:2");
  write_record(first);
}

void EventWriter::restart(int64_t step) {
  std::string log, out = event(step);
  append_integer(log, SessionLogField::status, kSessionStart);
  append_bytes(out, EventField::session_log, log);
  write_record(out);
}

void EventWriter::scalar(const std::string& tag, double value, int64_t step) {
  std::string out;
  append_float(out, ValueField::simple_value, static_cast<float>(value));
  write_value(tag, out, step);
}

void EventWriter::histogram(const std::string& tag, const Tensor& values, int64_t step) {
  histogram(tag, formats::histogram(values), step);
}

void EventWriter::histogram(const std::string& tag, const Histogram& values, int64_t step) {
  std::string message, out;
  append_double(message, HistogramField::min, values.min);
  append_double(message, HistogramField::max, values.max);
  append_double(message, HistogramField::num, values.num);
  append_double(message, HistogramField::sum, values.sum);
  append_double(message, HistogramField::sum_squares, values.sum_squares);
  append_doubles(message, HistogramField::bucket_limit, values.limits);
  append_doubles(message, HistogramField::bucket, values.counts);
  append_bytes(out, ValueField::histo, message);
  write_value(tag, out, step);
}

void EventWriter::write_value(const std::string& tag, const std::string& value, int64_t step) {
  check<ValueError>(!tag.empty() && is_utf8(tag), "events: a tag is empty or not UTF-8: it has ",
                    tag.size(), " bytes. Use a name such as loss or memory/peak.");
  std::string named, summary, out = event(step);
  append_bytes(named, ValueField::tag, tag);
  append_bytes(summary, SummaryField::value, named + value);
  append_bytes(out, EventField::summary, summary);
  write_record(out);
}

void EventWriter::write_record(const std::string& event) {
  std::string length, record;
  append_word(length, uint64_t{event.size()});
  record = length;
  append_word(record, masked_crc32c(length));
  record += event;
  append_word(record, masked_crc32c(event));
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
  out_.flush();
  check<DataError>(out_.good(), "events: writing failed: ", file_.string(),
                   ". Is the disk full? Make room.");
}

}  // namespace plimsoll::formats
