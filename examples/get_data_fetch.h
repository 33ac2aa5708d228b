// Fetching files so that a name never stands for half a file: everything is written beside its
// place as NAME.part, checked, and only then renamed; on any error the part is removed.
//
//   if (!is_present(file, dir)) fetch(file, "https://example.org/data", dir);
//   unpack(dir / "archive.tar.gz", members, dir);
#pragma once

#include <filesystem>
#include <string>

#include "examples/get_data_table.h"

namespace plimsoll::get_data {

// SHA-256 of a file's content in 64 hexadecimal digits. DataError when it cannot be read.
std::string sha256_of(const std::filesystem::path& path);

// True when dir/name has the published size and checksum.
bool is_present(const RemoteFile& file, const std::filesystem::path& dir);

// What --base stands for: the file address of a folder that exists, else the text itself, which is
// one of http, https or file. DataError when it is no address either.
std::string address_of(const std::string& base);

// Downloads base/name to dir/name, where `base` is an address or a folder. DataError when the
// transfer fails, the size or the checksum is not the published one, or the file cannot be written.
void fetch(const RemoteFile& file, const std::string& base, const std::filesystem::path& dir);

// Takes the members out of an archive, whatever folders they lie in, and puts them into `dir`: all
// or none. Other entries are passed over. DataError when the archive is damaged, a member is
// missing or has another size, or a file cannot be written.
void unpack(const std::filesystem::path& archive, std::span<const Member> members,
            const std::filesystem::path& dir);

}  // namespace plimsoll::get_data
