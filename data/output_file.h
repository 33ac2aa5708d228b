// OutputFile: a file that is there complete or not at all (data/atomic_file.h), and that is refused
// before the work, not after it.
//
//   const OutputFile file("--output", "out.csv");   // UsageError naming the option
//   file.write(text);
#pragma once

#include "core/base/error.h"
#include "data/atomic_file.h"

namespace plimsoll::data {

class OutputFile {
 public:
  // Tries whether the file can be made. UsageError when it cannot, or when it is there and no
  // regular file: a folder, a pipe, a device. A link stands for what it leads to.
  OutputFile(std::string option, std::string path)
      : option_(std::move(option)), path_(std::move(path)) {
    try {
      const AtomicFile tried(path_, option_);
    } catch (const DataError& error) {
      fail<UsageError>(error.what());
    }
  }

  // DataError when the disk is full or the folder is gone.
  void write(std::string_view text) const { write_atomically(path_, text, option_); }

 private:
  std::string option_, path_;
};

}  // namespace plimsoll::data
