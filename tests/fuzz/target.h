// A fuzz target: a reader of one format, files that it reads, and pieces that such files are made
// of. Each target is one file here, and becomes one program with driver.cpp, or with libFuzzer
// (libfuzzer.cpp).
//
//   bool reads(std::string_view bytes) {
//     return unless_refused([&] { parse_npy(std::as_bytes(std::span(bytes)), "f"); });
//   }
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace plimsoll::fuzz {

// Whether the reader takes these bytes. It may refuse them with DataError, and nothing else.
bool reads(std::string_view bytes);
std::vector<std::string> seeds();  // it takes them; in them, what a mutation could damage
std::vector<std::string> words();  // what a mutation may insert

template <class Read>
bool unless_refused(const Read& read) {
  try {
    read();
    return true;
  } catch (const DataError&) {
    return false;
  }
}

// A file without a disk, for readers that want a path.
class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("fuzz", MFD_CLOEXEC)), path_(cat("/proc/self/fd/", file_)) {
    check<Error>(file_ >= 0, "fuzz: no file in memory can be made. Run it on Linux.");
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& holding(std::string_view bytes) const {
    const bool written = ftruncate(file_, 0) == 0 && pwrite(file_, bytes.data(), bytes.size(), 0) ==
                                                         static_cast<ssize_t>(bytes.size());
    check<Error>(written, "fuzz: the file in memory cannot be written. Free some memory.");
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

inline const std::string& in_memory(std::string_view bytes) {
  static const MemoryFile file;
  return file.holding(bytes);
}

}  // namespace plimsoll::fuzz
