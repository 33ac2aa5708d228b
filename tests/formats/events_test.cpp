// Event files: byte by byte by a reader written for the test, and by TensorBoard's own.
#include "formats/events.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>

#include "formats/crc32c.h"
#include "tests/data/testing.h"
#include "tests/support/python.h"
#include "tests/support/wire.h"

namespace plimsoll::formats {
namespace {

using data::TemporaryFolder;

// CRC-32C from its definition, one bit at a time.
uint32_t slow_crc(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t in = static_cast<unsigned char>(c) >> bit & 1;
      crc = (crc & 1) != in ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
  return ~crc;
}

uint32_t slow_masked_crc(std::string_view bytes) {
  const uint32_t crc = slow_crc(bytes);
  return std::rotr(crc, 15) + 0xa282ead8u;
}

template <class Word>
Word word_at(const std::string& bytes, size_t at) {
  Word word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// The payloads of a file, each with its two checksums looked at.
std::vector<std::string> records(const std::string& bytes) {
  std::vector<std::string> all;
  size_t at = 0;
  while (at + 16 <= bytes.size()) {
    const auto length = word_at<uint64_t>(bytes, at);
    EXPECT_EQ(word_at<uint32_t>(bytes, at + 8), slow_masked_crc(bytes.substr(at, 8)));
    all.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(word_at<uint32_t>(bytes, at + 12 + length), slow_masked_crc(all.back()));
    at += 16 + length;
  }
  EXPECT_EQ(at, bytes.size());
  return all;
}

std::map<uint64_t, wire::Field> fields(const std::string& message) {
  std::map<uint64_t, wire::Field> all;
  for (wire::Reader r(message); const auto field = r.next();)
    EXPECT_TRUE(all.emplace(field->number, *field).second) << field->number << " is there twice";
  return all;
}

TEST(Crc32c, IsThatOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(slow_crc("123456789"), 0xe3069283u);
}

TEST(Events, AreRecordsOfProtobufMessages) {
  const TemporaryFolder folder;
  EventWriter events(folder / "deep/run");
  EXPECT_TRUE(events.file().filename().string().starts_with("events.out.tfevents."));
  events.scalar("loss/train", -2.5, 300);
  const std::vector<std::string> all =
      records(data::read_text(events.file()));  // while the writer lives
  ASSERT_EQ(all.size(), 2U);
  const auto first = fields(all[0]);
  ASSERT_TRUE(first.contains(3));
  EXPECT_EQ(first.at(3).bytes, "brain.Event:2");
  const auto second = fields(all[1]);  // 1: when, 2: step, 5: summary
  ASSERT_EQ(second.size(), 3U);
  ASSERT_TRUE(second.contains(1) && second.contains(2) && second.contains(5));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(std::bit_cast<double>(second.at(1).integer),
              std::chrono::duration<double>(now).count(), 60);
  EXPECT_EQ(second.at(2).integer, 300U);
  wire::Reader summary(second.at(5).bytes);
  wire::Reader value(summary.next()->bytes);
  EXPECT_EQ(value.next()->bytes, "loss/train");
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(value.next()->integer)), -2.5F);
}

TEST(Events, TwoWritersOfAFolderHaveTwoFiles) {
  const TemporaryFolder folder;
  const EventWriter a(folder.path()), b(folder.path());
  EXPECT_NE(a.file(), b.file());
}

TEST(Events, HistogramsCountEveryFiniteValueOnce) {
  const Histogram h =
      histogram(Tensor::of<float>({0, 1, 1, -3, 1e-13F, 1e30F, -1e30F, NAN, INFINITY}, {9}));
  EXPECT_EQ(h.num, 7);
  EXPECT_EQ(h.not_finite, 2);
  EXPECT_EQ(h.min, -1e30F);
  EXPECT_EQ(h.max, 1e30F);
  EXPECT_DOUBLE_EQ(histogram(Tensor::of<float>({1, 1, -3}, {3})).sum_squares, 11);
  ASSERT_EQ(h.limits.size(), h.counts.size());
  for (size_t i = 1; i < h.counts.size(); ++i) {
    EXPECT_LT(h.limits[i - 1], h.limits[i]);
    EXPECT_TRUE(h.counts[i - 1] > 0 || h.counts[i] > 0) << "empty neighbours";
  }
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), 0.0), 7);
  std::vector<size_t> pairs;
  for (size_t i = 0; i < h.counts.size(); ++i)
    if (h.counts[i] == 2) pairs.push_back(i);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(h.limits[pairs[0]], 1e-12);  // 0 and 1e-13 lie in [0, 1e-12)
  // Both 1 lie between two limits of which the upper is 1.1 times the lower.
  EXPECT_LE(h.limits[pairs[1] - 1], 1);
  EXPECT_GT(h.limits[pairs[1]], 1);
  EXPECT_LT(h.limits[pairs[1]], 1.1);
  EXPECT_EQ(h.limits.back(), std::numeric_limits<double>::max());
  EXPECT_EQ(histogram(Tensor::of<int64_t>({4, 4}, {2})).sum, 8);
  const Histogram nothing = histogram(Tensor::of<float>({NAN}, {1}));
  EXPECT_EQ(nothing.num, 0);
  EXPECT_EQ(nothing.counts, std::vector<double>{0});
}

TEST(Events, RefuseWhatNoReaderWouldRead) {
  const TemporaryFolder folder;
  EventWriter events(folder.path());
  for (const char* tag : {"", "\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80"})
    EXPECT_THROW(events.scalar(tag, 1, 0), ValueError) << tag;
  for (const char* tag : {"loss", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_NO_THROW(events.scalar(tag, 1, 0)) << tag;
  std::ofstream(folder / "file");
  const std::string text = error_of<DataError>([&] { EventWriter(folder / "file"); });
  EXPECT_TRUE(text.starts_with("events: the file cannot be made: ")) << text;
}

TEST(Events, TensorBoardReadsThem) {
  NEEDS_PYTHON("tensorboard");
  const TemporaryFolder folder;
  {
    EventWriter events(folder.path());
    for (int step = 0; step < 3; ++step) events.scalar("loss", 1.0 / (step + 1), step * 100);
    events.scalar("memory/peak", 123456, 200);
    events.histogram("grad", Tensor::of<float>({1, 1, -3, 0}, {4}), 200);
  }
  const auto [code, output] = python::run("support/read_events.py", {folder.path().string()});
  ASSERT_EQ(code, 0) << output;
  EXPECT_NE(output.find("version 2.0 "), std::string::npos) << output;
  for (const char* line :
       {"scalar loss 0 1.0 ", "scalar loss 100 0.5 ", "scalar loss 200 0.3333333432674408 ",
        "scalar memory/peak 200 123456.0 ", "histogram grad 200 -3.0 1.0 4.0 -1.0 11.0 "})
    EXPECT_NE(output.find(line), std::string::npos) << line << "\n" << output;
  const size_t line = output.find("histogram grad");
  std::istringstream counts(output.substr(line, output.find('\n', line) - line));
  double all = 0;
  for (std::string word; counts >> word;)
    if (const size_t colon = word.find(':'); colon != std::string::npos)
      all += std::stod(word.substr(colon + 1));
  EXPECT_EQ(all, 4);
}

}  // namespace
}  // namespace plimsoll::formats
