#include "data/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "data/atomic_file.h"

namespace plimsoll::data {
namespace {

// A file of our own beside `path`, gone unless it was renamed. O_EXCL: what is there already, be it
// a file of the user or a link, is never opened; the next name is tried.
class Temporary {
 public:
  explicit Temporary(const std::string& path) {
    for (int i = 0; file_ < 0; ++i) {
      name_ = cat(path, ".", getpid(), ".", i, ".tmp");
      file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && errno != EEXIST) return;
    }
  }
  ~Temporary() {
    if (file_ < 0) return;
    ::close(file_);
    if (!renamed_) unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  bool is_open() const { return file_ >= 0; }
  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(file_, text.data(), text.size());
      if (n < 0 && errno != EINTR) return false;
      if (n > 0) text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  bool rename_to(const std::string& path) {
    return renamed_ = std::rename(name_.c_str(), path.c_str()) == 0;
  }

 private:
  std::string name_;
  int file_ = -1;
  bool renamed_ = false;
};

}  // namespace

OutputFile::OutputFile(std::string option, std::string path) : option_(std::move(option)) {
  try {
    path_ = data::behind_links(path, option_).string();
  } catch (const DataError& error) {
    fail<UsageError>(error.what());
  }
  const bool possible = Temporary(path_).is_open();
  check<UsageError>(possible, option_, ": the file cannot be written: ", path_, " (",
                    std::strerror(errno), "). Name a file in a folder that exists and is yours.");
}

void OutputFile::write(std::string_view text) const {
  Temporary file(path_);
  const bool written = file.is_open() && file.write(text);
  check<DataError>(written, option_, ": writing failed: ", path_, " (", std::strerror(errno),
                   "). Look at its folder and the space on the disk.");
  const bool renamed = file.rename_to(path_);
  check<DataError>(renamed, option_, ": the file cannot be given its name: ", path_, " (",
                   std::strerror(errno), "). Look at its folder.");
}

}  // namespace plimsoll::data
