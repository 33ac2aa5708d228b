#include "data/file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/base/error.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

Bytes read_raw(const fs::path& path, int64_t limit) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  check<DataError>(fs::exists(status), "read_file: there is no such file: ", path.string(),
                   ". Check the path, or fetch the data with tools/get_data.sh.");
  check<DataError>(fs::is_regular_file(status),
                   "read_file: this is not a regular file: ", path.string(), ". Name a file.");
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  check<DataError>(!error, "read_file: the size is not known: ", path.string(), " (",
                   error.message(), "). Check the disk.");
  check<DataError>(size <= limit, "read_file: the file is too large: ", path.string(), " has ",
                   size, " bytes, at most ", limit, " are read. Use a smaller file.");
  std::ifstream file(path, std::ios::binary);
  check<DataError>(file.is_open(), "read_file: the file cannot be opened: ", path.string(), ": ",
                   std::strerror(errno), ". Check its permissions.");
  Bytes bytes(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  check<DataError>(file.gcount() == size,
                   "read_file: the file could not be read to its end: ", path.string(), ": ",
                   static_cast<int64_t>(file.gcount()), " of ", size, " bytes. Check the disk.");
  return bytes;
}

// zlib's state, released on every way out.
class Inflater {
 public:
  Inflater() {
    check<DataError>(inflateInit2(&stream, /*windowBits: gzip only=*/15 + 16) == Z_OK,
                     "read_file: zlib could not be started. Free some memory.");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

// zlib counts in 32 bits: hand it this much at a time.
constexpr int64_t kChunk = int64_t{1} << 30;

// Unpacks all members into `place`; without one, into scratch memory that is used again and again.
// Returns their bytes, which are at most `limit`.
int64_t unpack(Bytes& packed, const std::string& name, int64_t limit, Bytes* place) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  Bytes scratch(place ? 0 : size_t{1} << 16);
  int64_t read = 0, written = 0;
  const auto packed_size = static_cast<int64_t>(packed.size());
  for (;;) {
    Bytes& into = place ? *place : scratch;
    const int64_t begin = place ? written : 0;
    const int64_t in = std::min(packed_size - read, kChunk);
    const int64_t out = std::min(std::ssize(into) - begin, kChunk);
    stream.next_in = packed.data() + read;
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = into.data() + begin;
    stream.avail_out = static_cast<uInt>(out);
    const int status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    check<DataError>(written <= limit, "read_file: the gzip file unpacks to more than ", limit,
                     " bytes: ", name, " of ", packed_size, " bytes. Use a smaller file.");
    if (status == Z_STREAM_END) {
      if (read == packed_size) return written;
      inflateReset(&stream);  // another member follows; garbage fails its header check
      continue;
    }
    check<DataError>(status != Z_BUF_ERROR || read < packed_size || stream.avail_out == 0,
                     "read_file: the gzip file is cut short: ", name, " ends after ", packed_size,
                     " bytes, which unpack to ", written, ". Fetch it again.");
    check<DataError>(status == Z_OK || status == Z_BUF_ERROR, "read_file: the gzip file is ",
                     "damaged: ", name, " at byte ", read, " of ", packed_size, ": ",
                     stream.msg ? stream.msg : zError(status), ". Fetch it again.");
  }
}

// Twice: a file that is made to fill the memory is refused before it has taken any.
Bytes gunzip(Bytes packed, const std::string& name, int64_t limit) {
  const int64_t size = unpack(packed, name, limit, nullptr);
  Bytes bytes(static_cast<size_t>(size) + 1);  // zlib asks for room even where nothing comes
  unpack(packed, name, limit, &bytes);
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

}  // namespace

Bytes read_file(const fs::path& path, int64_t limit) {
  Bytes bytes = read_raw(path, limit);
  const bool gzip = bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  return gzip ? gunzip(std::move(bytes), path.string(), limit) : bytes;
}

std::string read_text(const fs::path& path, int64_t limit) {
  const Bytes bytes = read_file(path, limit);
  return {bytes.begin(), bytes.end()};
}

std::string shown(std::string_view piece) {
  constexpr size_t kLongest = 40;
  size_t end = std::min(piece.size(), kLongest);
  if (end < piece.size())  // not inside a character, which has up to three bytes 10xxxxxx
    while (end > kLongest - 3 && (piece[end] & 0xC0) == 0x80) --end;
  std::string text;
  for (const char c : piece.substr(0, end))
    text += static_cast<uint8_t>(c) < ' ' || c == 127 ? '?' : c;
  return piece.size() > kLongest ? text + "..." : text;
}

void check_folder(const fs::path& dir) {
  std::error_code error;
  check<DataError>(fs::is_directory(dir, error), "data: there is no such folder: ", dir.string(),
                   ". Check the path, or fetch the data with tools/get_data.sh.");
}

fs::path find_file(const fs::path& dir, const std::string& name) {
  check_folder(dir);
  std::error_code error;
  for (const std::string& candidate : {name, name + ".gz"})
    if (fs::exists(dir / candidate, error)) return dir / candidate;
  fail<DataError>("data: neither ", name, " nor ", name, ".gz is in the folder: ", dir.string(),
                  ". Check the path, or fetch the data with tools/get_data.sh.");
}

}  // namespace plimsoll::data
