#include "data/text/token_file.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/error.h"

namespace plimsoll::data {
namespace {

static_assert(std::endian::native == std::endian::little, "files of tokens are mapped as they are");

constexpr char kMagic[] = {'p', 'l', 'i', 'm', 't', 'o', 'k', '1'};

struct Header {
  char magic[8];
  uint32_t bytes_each, vocabulary;
  uint64_t count;
  uint32_t crc, zero;
};
static_assert(sizeof(Header) == 32);

uint32_t crc_of(const Header& header) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(&header), offsetof(Header, crc)));
}

int64_t check_vocabulary(int64_t vocabulary) {
  check<ValueError>(vocabulary >= 1 && vocabulary <= int64_t{1} << 31,
                    "tokens: a vocabulary has 1 to 2^31 tokens: ", vocabulary,
                    ". Pass that of the tokenizer.");
  return vocabulary;
}

}  // namespace

TokenFile::TokenFile(const std::filesystem::path& path)
    : name_(path.string()), file_("tokens", path) {
  const std::span<const std::byte> bytes = file_.bytes();
  tokens_.file_ = &name_;
  Header header{};
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    check<DataError>(!bytes.empty() && bytes.size() % 2 == 0,
                     "tokens: neither a file of tokens nor raw ids of 16 bits: ", name_, " has ",
                     bytes.size(), " bytes. Write one with tokenize.");
    tokens_.data_ = tokens_.first_ = bytes.data();
    tokens_.size_ = static_cast<int64_t>(bytes.size() / 2);
    tokens_.bytes_each_ = 2;
    uint16_t highest = 0;
    for (size_t i = 0; i < bytes.size(); i += 2) {
      uint16_t id;
      std::memcpy(&id, &bytes[i], 2);
      highest = std::max(highest, id);
    }
    tokens_.vocabulary_ = int64_t{highest} + 1;
    return;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  check<DataError>(header.crc == crc_of(header) && header.zero == 0,
                   "tokens: the header is damaged: ", name_, ". Write it again.");
  check<DataError>(header.bytes_each == 2 || header.bytes_each == 4,
                   "tokens: ids have 2 or 4 bytes: ", name_, " says ", header.bytes_each,
                   ". Write it again.");
  check<DataError>(header.vocabulary >= 1 && header.vocabulary <= uint32_t{1} << 31,
                   "tokens: a vocabulary has 1 to 2^31 tokens: ", name_, " says ",
                   header.vocabulary, ". Write it again.");
  const uint64_t held = (bytes.size() - sizeof header) / header.bytes_each;
  check<DataError>(header.count == held && (bytes.size() - sizeof header) % header.bytes_each == 0,
                   "tokens: the file is cut short or too long: ", name_, " claims ", header.count,
                   " ids of ", header.bytes_each, " bytes and has ", bytes.size() - sizeof header,
                   " bytes of them. Write it again.");
  tokens_.data_ = tokens_.first_ = bytes.data() + sizeof header;
  tokens_.size_ = static_cast<int64_t>(held);
  tokens_.bytes_each_ = header.bytes_each;
  tokens_.vocabulary_ = header.vocabulary;
}

TokenWriter::TokenWriter(const std::filesystem::path& path, int64_t vocabulary)
    : path_(path),
      vocabulary_(check_vocabulary(vocabulary)),
      bytes_each_(vocabulary <= 65536 ? 2 : 4),
      file_(path),
      out_(file_.temporary(), std::ios::binary) {
  write_header();
}

void TokenWriter::write_header() {
  Header header{.magic = {},
                .bytes_each = static_cast<uint32_t>(bytes_each_),
                .vocabulary = static_cast<uint32_t>(vocabulary_),
                .count = static_cast<uint64_t>(count_),
                .crc = 0,
                .zero = 0};
  std::copy_n(kMagic, sizeof kMagic, header.magic);
  header.crc = crc_of(header);
  out_.write(reinterpret_cast<const char*>(&header), sizeof header);
}

void TokenWriter::append(std::span<const int32_t> ids) {
  std::vector<char> bytes(ids.size() * static_cast<size_t>(bytes_each_));
  char* to = bytes.data();
  for (const int32_t id : ids) {
    check<IndexError>(id >= 0 && id < vocabulary_, "tokens: an id is not in the vocabulary: ", id,
                      " of ", vocabulary_, ". Pass the vocabulary of the tokenizer.");
    std::memcpy(to, &id, static_cast<size_t>(bytes_each_));  // little-endian: the low bytes
    to += bytes_each_;
  }
  out_.write(bytes.data(), std::ssize(bytes));
  count_ += std::ssize(ids);
}

void TokenWriter::finish() {
  out_.seekp(0);
  write_header();
  out_.close();
  check<DataError>(out_.good(), "tokens: the file could not be written: ", path_.string(),
                   ". Make room on the disk.");
  file_.commit();
}

}  // namespace plimsoll::data
