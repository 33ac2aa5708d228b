// OutputFile: a file that is there complete or not at all, and that is refused before the work, not
// after it.
//
//   const OutputFile file("--output", "out.csv");   // UsageError naming the option
//   file.write(text);
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::data {

class OutputFile {
 public:
  // Tries whether the file can be made. UsageError when it cannot, or when it is there and no
  // regular file: a folder, a pipe, a device. A link stands for what it leads to.
  OutputFile(std::string option, std::string path);

  // Writes a new file beside it and gives it the name: no other file is touched. DataError when the
  // disk is full or the folder is gone.
  void write(std::string_view text) const;

 private:
  std::string option_, path_;
};

}  // namespace plimsoll::data
