// A file as memory: mapped, not read. Pages come from the disk when they are looked at.
//
//   const MappedFile file("tokens", "x.tokens");
//   std::span<const std::byte> bytes = file.bytes();
//
// The file must keep its length while it is mapped: looking past a new end kills the process
// (SIGBUS). Giving its name to another file, as an atomic save does, is safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace plimsoll::data {

class MappedFile {
 public:
  // DataError, which begins with `what`: missing, no regular file, unreadable.
  MappedFile(const char* what, const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Whole pages of these bytes go back to the system; they are read again when they are looked at.
  void give_back(std::span<const std::byte> part) const noexcept;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace plimsoll::data
