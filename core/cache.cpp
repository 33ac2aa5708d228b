#include "core/cache.h"

#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/hash.h"
#include "core/text.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

struct Header {
  char magic[8] = {'p', 'l', 'i', 'm', 'c', 'a', 'c', '1'};
  uint64_t hash = kFnvStart, length = 0;  // of what it is made of
  uint64_t size = 0;                      // of what follows
  uint32_t made_of_crc = 0, crc = 0;
};
static_assert(sizeof(Header) == 40);  // no gaps: compared as bytes

uint32_t crc_of(uint32_t crc, const void* bytes, size_t size) {
  if (size == 0) return crc;  // zlib would begin anew at a null pointer
  return static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(bytes), size));
}

Header header_of(std::initializer_list<std::string_view> made_of) {
  Header header;
  for (const std::string_view part : made_of) {
    const uint64_t size = part.size();  // so that {"ab", "c"} is not {"a", "bc"}
    header.hash = fnv1a({reinterpret_cast<const char*>(&size), sizeof size}, header.hash);
    header.hash = fnv1a(part, header.hash);
    header.made_of_crc = crc_of(header.made_of_crc, part.data(), part.size());
    header.length += size;
  }
  return header;
}

std::optional<CachedBytes> read(const fs::path& path, Header expected) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error || size < sizeof expected) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Header header;
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  expected.size = size - sizeof header;
  expected.crc = header.crc;
  if (!file || std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  CachedBytes bytes(header.size);
  file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
  if (!file || crc_of(0, bytes.data(), bytes.size()) != header.crc) return std::nullopt;
  return bytes;
}

// Under a name of its own first: another process or thread may be doing the same. The disk is not
// waited for: what a crash damages is made again.
void write(const fs::path& path, Header header, const CachedBytes& bytes) {
  header.size = bytes.size();
  header.crc = crc_of(0, bytes.data(), bytes.size());
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  static std::atomic<int> number = 0;
  const fs::path part = cat(path.string(), ".", getpid(), ".", number++, ".part");
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  file.close();
  if (file) fs::rename(part, path, error);
  if (!file || error) fs::remove(part, error);
}

}  // namespace

CachedBytes cached_file(const fs::path& folder, std::initializer_list<std::string_view> made_of,
                        const std::function<CachedBytes()>& make,
                        const std::function<bool(const CachedBytes&)>& usable) {
  const Header header = header_of(made_of);
  const char* const digits = "0123456789abcdef";
  std::string name;
  for (int shift = 60; shift >= 0; shift -= 4) name += digits[header.hash >> shift & 15];
  const fs::path path = folder / (name + ".cache");
  if (std::optional<CachedBytes> bytes = read(path, header))
    if (!usable || usable(*bytes)) return *std::move(bytes);
  CachedBytes bytes = make();
  write(path, header, bytes);
  return bytes;
}

}  // namespace plimsoll
