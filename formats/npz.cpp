// A zip archive as far as .npz needs it (PKWARE's APPNOTE.TXT, sections 4.3 to 4.5): entries that
// are stored or deflated, found by the directory at the file's end, with sizes of 64 bits where
// those of 32 do not hold them (zip64).
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "data/mapped_file.h"
#include "formats/npy_header.h"

namespace plimsoll::formats {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kSuffix = ".npy";
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;  // how each record begins
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                 kLocator64Bytes = 20;
constexpr uint16_t kStored = 0, kDeflated = 8, kZip64 = 1;
constexpr auto kWide16 = std::numeric_limits<uint16_t>::max();  // stands for: see the 64 bits
constexpr auto kWide32 = std::numeric_limits<uint32_t>::max();

// zlib counts in 32 bits: hand it this much at a time.
constexpr size_t kChunk = size_t{1} << 30;

uint32_t add_crc(uint32_t crc, Bytes bytes) {
  if (bytes.empty()) return crc;  // with no address zlib would begin again
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct Entry {
  std::string name;
  uint16_t flags = 0, method = kStored;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, offset = 0;  // bytes of it in the file, unpacked, and where
};

// A record is a string of numbers, least significant byte first.
template <class... Numbers>
std::string record(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

// What follows the names: nothing, or the sizes that 32 bits do not hold.
template <class... Sizes>
std::string wide_field(bool wide, Sizes... sizes) {
  if (!wide) return {};
  return record(kZip64, static_cast<uint16_t>(sizeof...(sizes) * 8), sizes...);
}

uint32_t narrow(bool wide, uint64_t size) { return wide ? kWide32 : static_cast<uint32_t>(size); }

// Version to read it, flags, method, time, date, sum and sizes: the same in both of its records.
std::string common_fields(const Entry& entry, bool wide) {
  constexpr uint16_t kFirstOf1980 = 1 << 5 | 1;
  const auto version = static_cast<uint16_t>(wide ? 45 : 20);
  return record(version, entry.flags, entry.method, uint16_t{0}, kFirstOf1980, entry.crc,
                narrow(wide, entry.packed), narrow(wide, entry.size),
                static_cast<uint16_t>(entry.name.size()));
}

class Reader {
 public:
  Reader(Bytes file, const std::string& path) : file_(file), path_(path) {}

  std::vector<Entry> entries() const {
    // The end has a comment of up to 64 KiB behind it.
    size_t end = file_.size() < kEndBytes ? 0 : file_.size() - kEndBytes;
    const size_t first = end > kWide16 ? end - kWide16 : 0;
    while (end > first && !begins(end, kEnd)) --end;
    check<DataError>(file_.size() >= kEndBytes && begins(end, kEnd),
                     "npz: this is not a zip archive: ", path_, ". Write it with numpy.savez.");
    uint64_t count = at<uint16_t>(end + 10), next = at<uint32_t>(end + 16);
    if (end >= kLocator64Bytes && begins(end - kLocator64Bytes, kLocator64)) {
      const auto wide = at<uint64_t>(end - kLocator64Bytes + 8);
      expect(fits(wide, kEnd64Bytes) && begins(wide, kEnd64), "its end");
      count = at<uint64_t>(wide + 32), next = at<uint64_t>(wide + 48);
    }
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < count; ++i) {
      expect(fits(next, kCentralBytes) && begins(next, kCentral), "its directory");
      const uint64_t name = at<uint16_t>(next + 28), more = at<uint16_t>(next + 30);
      expect(fits(next + kCentralBytes, name + more), "its directory");
      Entry& entry = entries.emplace_back();
      entry.name.assign(reinterpret_cast<const char*>(&file_[next]) + kCentralBytes, name);
      entry.flags = at<uint16_t>(next + 8);
      entry.method = at<uint16_t>(next + 10);
      entry.crc = at<uint32_t>(next + 16);
      entry.packed = at<uint32_t>(next + 20);
      entry.size = at<uint32_t>(next + 24);
      entry.offset = at<uint32_t>(next + 42);
      widen(entry, next + kCentralBytes + name, more);
      next += kCentralBytes + name + more + at<uint16_t>(next + 32);
    }
    return entries;
  }

  // The content of an entry, which may lie in `space`; nothing when it is more than `most` bytes.
  std::optional<Bytes> content(const Entry& entry, size_t most,
                               std::vector<std::byte>& space) const {
    expect(fits(entry.offset, kLocalBytes) && begins(entry.offset, kLocal), "an entry");
    const uint64_t data = entry.offset + kLocalBytes + at<uint16_t>(entry.offset + 26) +
                          at<uint16_t>(entry.offset + 28);
    expect(fits(data, entry.packed), "an entry");
    const Bytes packed = file_.subspan(data, entry.packed);
    check<DataError>(entry.flags % 2 == 0 && (entry.method == kStored || entry.method == kDeflated),
                     "npz: an entry is encrypted or packed in a way that is not read: method ",
                     entry.method, " in ", path_, ". Write it with numpy.savez.");
    if (entry.method == kStored && packed.size() > most) return std::nullopt;
    if (entry.method == kDeflated && !inflate_into(space, packed, most)) return std::nullopt;
    const Bytes bytes = entry.method == kStored ? packed : Bytes(space);
    expect(bytes.size() == entry.size && add_crc(0, bytes) == entry.crc, "an entry");
    return bytes;
  }

 private:
  bool fits(uint64_t begin, uint64_t bytes) const {
    return begin <= file_.size() && bytes <= file_.size() - begin;
  }
  template <class T>
  T at(uint64_t place) const {
    T value;
    std::memcpy(&value, &file_[place], sizeof value);
    return value;
  }
  bool begins(uint64_t place, uint32_t with) const { return at<uint32_t>(place) == with; }

  void expect(bool ok, const char* what) const {
    check<DataError>(ok, "npz: the archive is damaged: ", path_, " (", what, "). Fetch it again.");
  }

  // Sizes of 64 bits, in this order, for those that the record does not hold.
  void widen(Entry& entry, uint64_t begin, uint64_t bytes) const {
    const uint64_t end = begin + bytes;
    while (begin + 4 <= end && at<uint16_t>(begin) != kZip64) begin += 4 + at<uint16_t>(begin + 2);
    begin += 4;
    for (uint64_t* const size : {&entry.size, &entry.packed, &entry.offset}) {
      if (*size != kWide32) continue;
      expect(begin + 8 <= end, "its directory");
      *size = at<uint64_t>(begin);
      begin += 8;
    }
  }

  // What comes out of `packed`; false when it is more than `most` bytes. Memory grows with that,
  // whatever the archive claims, and never beyond what shows that it is too much.
  bool inflate_into(std::vector<std::byte>& bytes, Bytes packed, size_t most) const {
    constexpr size_t kFirst = 48 * 1024;
    z_stream stream{};
    check<DataError>(inflateInit2(&stream, /*no header:*/ -15) == Z_OK,
                     "npz: zlib could not be started. Free some memory.");
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> release(&stream, inflateEnd);
    bytes = {};
    size_t read = 0, filled = 0;
    for (int status = Z_OK; status != Z_STREAM_END;) {
      if (filled == bytes.size()) {
        const size_t next = std::min(std::max(kFirst, 2 * filled), most + 1);
        bytes.reserve(next);  // resize() alone would double
        bytes.resize(next);
      }
      const size_t in = std::min(packed.size() - read, kChunk);
      const size_t out = std::min(bytes.size() - filled, kChunk);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + filled);
      stream.avail_out = static_cast<uInt>(out);
      status = inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      filled += out - stream.avail_out;
      if (filled > most) return false;
      // Z_BUF_ERROR: nothing could be done, because the input has ended.
      expect(status == Z_OK || status == Z_STREAM_END, "an entry");
    }
    bytes.resize(filled);
    return true;
  }

  Bytes file_;
  const std::string& path_;
};

void check_names(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& item : tensors) {
    const bool plain = !item.name.empty() && item.name.size() <= 65'000 &&
                       std::ranges::all_of(item.name, [](char c) { return c >= ' ' && c <= '~'; });
    check<ValueError>(plain && names.insert(item.name).second, "npz: the name number ",
                      names.size() + 1,
                      " is empty, there already, not printable ASCII or above 65,000 characters. "
                      "Choose another.");
    require_bytes("npz", item.tensor);  // before the file is touched
    npy_header(item.tensor);            // so is this: it refuses types
  }
}

}  // namespace

void write_npz(const std::filesystem::path& file, std::span<const NamedTensor> tensors) {
  check_names(tensors);
  write_file("npz", file, [&](const Sink& sink) {
    uint64_t written = 0;
    const auto write = [&](Bytes bytes) {
      sink(bytes);
      written += bytes.size();
    };
    const auto write_text = [&](const std::string& text) { write(std::as_bytes(std::span(text))); };
    std::string directory;
    std::vector<std::byte> space;
    for (const NamedTensor& item : tensors) {
      const std::string header = npy_header(item.tensor);
      const Bytes elements = bytes_of("npz", item.tensor, space);
      Entry entry{.name = item.name + std::string(kSuffix), .offset = written};
      entry.crc = add_crc(add_crc(0, std::as_bytes(std::span(header))), elements);
      entry.packed = entry.size = header.size() + elements.size();
      const bool wide = std::max(entry.size, entry.offset) >= kWide32;
      const std::string sizes = wide_field(wide, entry.size, entry.packed);
      const std::string places = wide_field(wide, entry.size, entry.packed, entry.offset);
      const std::string fields = common_fields(entry, wide);
      write_text(record(kLocal) + fields + record(static_cast<uint16_t>(sizes.size())) +
                 entry.name + sizes);
      write_text(header);
      write(elements);
      directory += record(kCentral, uint16_t{3 << 8 | 45}) + fields +  // made on Unix
                   record(static_cast<uint16_t>(places.size()), uint16_t{0}, uint16_t{0},
                          uint16_t{0}, uint32_t{0100644} << 16, narrow(wide, entry.offset)) +
                   entry.name + places;
    }
    const uint64_t begin = written, bytes = directory.size(), count = tensors.size();
    write_text(directory);
    const bool wide = begin >= kWide32 || bytes >= kWide32 || count >= kWide16;
    if (wide)
      write_text(record(kEnd64, uint64_t{kEnd64Bytes - 12}, uint16_t{3 << 8 | 45}, uint16_t{45},
                        uint32_t{0}, uint32_t{0}, count, count, bytes, begin) +
                 record(kLocator64, uint32_t{0}, begin + bytes, uint32_t{1}));
    const auto few = wide ? kWide16 : static_cast<uint16_t>(count);
    write_text(record(kEnd, uint16_t{0}, uint16_t{0}, few, few, narrow(wide, bytes),
                      narrow(wide, begin), uint16_t{0}));
  });
}

std::vector<NamedTensor> read_npz(const std::filesystem::path& file, int64_t limit) {
  const std::string path = file.string();
  const data::MappedFile mapped("npz", file);
  const Reader reader(mapped.bytes(), path);
  auto left = static_cast<size_t>(std::max<int64_t>(limit, 0));
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  std::vector<std::byte> space;
  for (const Entry& entry : reader.entries()) {
    check<DataError>(entry.name.ends_with(kSuffix) && names.insert(entry.name).second,
                     "npz: an entry is no .npy file, or there twice: number ", names.size() + 1,
                     " of ", path, ". Write it with numpy.savez.");
    const auto bytes = reader.content(entry, left, space);
    check<DataError>(bytes.has_value(), "npz: the arrays of ", path, " unpack to more than ", limit,
                     " bytes. Write several files, or pass a higher limit.");
    left -= bytes->size();
    tensors.push_back({entry.name.substr(0, entry.name.size() - kSuffix.size()),
                       parse_npy(*bytes, cat(path, ", array ", names.size()))});
  }
  return tensors;
}

}  // namespace plimsoll::formats
