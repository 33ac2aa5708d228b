// Whole files into memory; gzip is undone on the way.
//
//   Bytes bytes = read_file(find_file(dir, "train-images-idx3-ubyte"));   // that name, or with .gz
//
// A dataset file comes from somewhere else and may be cut short, damaged or made to harm. Every
// such file is a DataError, and none makes the program hold more than `limit` bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::data {

using Bytes = std::vector<uint8_t>;

// Far above every dataset read here (the largest, one file of CIFAR-10, has 31 MB).
constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

// The content of a file; when it begins with the two magic bytes of gzip (RFC 1952), what was
// compressed in it: all members, each checked against its CRC and length.
// DataError: missing, a folder, unreadable, larger than `limit` (packed or unpacked), or a gzip
// stream that is cut short, damaged or followed by something else.
Bytes read_file(const std::filesystem::path& path, int64_t limit = kMaxFileBytes);

// The same as text.
std::string read_text(const std::filesystem::path& path, int64_t limit = kMaxFileBytes);

// A piece of a damaged file, which may be long and hold anything, as part of a message: its first
// 40 bytes, or fewer so that no character of UTF-8 is cut.
std::string shown(std::string_view piece);

// dir/name where it exists, else dir/name.gz. DataError naming both when neither exists, and when
// `dir` is no folder.
std::filesystem::path find_file(const std::filesystem::path& dir, const std::string& name);

// DataError unless `dir` is a folder.
void check_folder(const std::filesystem::path& dir);

}  // namespace plimsoll::data
