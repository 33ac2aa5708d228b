// What the tests of data/ share: a folder that goes away and what is in it, files made of bytes,
// gzip, a vocabulary of bytes, the text of an error.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "data/file.h"
#include "tests/errors.h"

namespace plimsoll::data {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string text(const std::string& name) const { return (path_ / name).string(); }

  // Writes a file and returns its path.
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    return path_ / name;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    return write(name, Bytes(text.begin(), text.end()));
  }

 private:
  std::filesystem::path path_;
};

// Sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// One gzip member.
inline Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// How vocab.json writes a byte.
inline std::string byte_character(int byte) {
  static const std::string hidden = [] {  // those that are not printed as themselves, in order
    std::string bytes;
    for (int b = 0; b < 256; ++b)
      if (b < 33 || (b > 126 && b < 161) || b == 173) bytes += static_cast<char>(b);
    return bytes;
  }();
  const size_t place = hidden.find(static_cast<char>(byte));
  const size_t point = place == std::string::npos ? static_cast<size_t>(byte) : 256 + place;
  if (point < 128) return {static_cast<char>(point)};
  return {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 63))};
}

// {"!": 0, ..., "<more>": 256, ...} with the bytes in an order of their own.
inline std::string byte_vocabulary(const std::vector<std::string>& more) {
  std::string json = "{";
  for (int id = 0; id < 256; ++id) {
    std::string token = byte_character((id + 33) % 256);
    if (token == "\"" || token == "\\") token = "\\" + token;
    json += cat(id > 0 ? ", \"" : "\"", token, "\": ", id);
  }
  for (size_t i = 0; i < more.size(); ++i) json += cat(", \"", more[i], "\": ", 256 + i);
  return json + "}";
}

}  // namespace plimsoll::data
