#include "data/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/base/error.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& who, const char* what, const fs::path& file) {
  const int reason = errno;
  fail<DataError>(who, ": ", what, ": ", file.string(), " (", std::strerror(reason),
                  "). Look at its folder and the space on the disk.");
}

// A file or a folder, opened to bring to the disk what was written to it, or which names it has.
class Opened {
 public:
  Opened(const fs::path& name, int flags, const std::string& who, const fs::path& file)
      : descriptor_(open(name.c_str(), flags | O_CLOEXEC)), flags_(flags), who_(who), file_(file) {
    if (descriptor_ < 0) refuse(who, "it cannot be opened again", file);
  }
  ~Opened() { close(descriptor_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  void synchronise() const {
    // Some file systems do not synchronise folders, and say so.
    if (fsync(descriptor_) != 0 && !(errno == EINVAL && flags_ & O_DIRECTORY))
      refuse(who_, "it cannot be brought to the disk", file_);
  }

 private:
  const int descriptor_, flags_;
  const std::string& who_;
  const fs::path& file_;
};

}  // namespace

fs::path behind_links(const fs::path& name, const std::string& who) {
  fs::path path = name;
  std::error_code none;  // what cannot be looked at cannot be opened either
  for (int links = 0; fs::is_symlink(path, none); ++links) {
    check<DataError>(links < 40, who, ": its links lead nowhere: ", name.string(),
                     ". Name another file.");
    path = path.parent_path() / fs::read_symlink(path, none);
  }
  check<DataError>(!fs::exists(path, none) || fs::is_regular_file(path, none), who,
                   ": it is there and no regular file: ", path.string(), ". Name another file.");
  return path;
}

// O_EXCL, so that nothing that is there is opened.
AtomicFile::AtomicFile(const fs::path& file, std::string who)
    : who_(std::move(who)), file_(behind_links(file, who_)) {
  for (int i = 0;; ++i) {
    temporary_ = cat(file_.string(), ".", getpid(), ".", i, ".tmp");
    const int opened = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (opened >= 0) {
      close(opened);
      return;
    }
    if (errno != EEXIST) refuse(who_, "the file cannot be written", file_);
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  Opened(temporary_, O_WRONLY, who_, file_).synchronise();
  const fs::path parent = file_.parent_path();
  const Opened folder(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY, who_, file_);
  if (std::rename(temporary_.c_str(), file_.c_str()) != 0)
    refuse(who_, "it cannot be given its name", file_);
  committed_ = true;
  folder.synchronise();
}

void write_atomically(const fs::path& file, const std::function<void(const fs::path&)>& write,
                      const std::string& who) {
  AtomicFile whole(file, who);
  write(whole.temporary());
  whole.commit();
}

void synchronise_folder(const fs::path& folder, const std::string& who) {
  Opened(folder, O_RDONLY | O_DIRECTORY, who, folder).synchronise();
}

void synchronise_files(const fs::path& folder, const std::string& who) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) Opened(entry.path(), O_RDONLY, who, entry.path()).synchronise();
  synchronise_folder(folder, who);
}

void remove_unfinished(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> unfinished;
  std::error_code none;  // a file that stays does no harm
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const fs::path& file = entry.path();
    if (file.filename().string().starts_with(prefix) && file.extension() == ".tmp")
      unfinished.push_back(file);
  }
  for (const fs::path& file : unfinished) fs::remove_all(file, none);
}

void write_atomically(const fs::path& file, std::string_view text, const std::string& who) {
  const auto write = [&](const fs::path& name) {
    std::FILE* const out = std::fopen(name.c_str(), "wb");
    const bool written = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    const bool closed = out && std::fclose(out) == 0;
    if (!written || !closed) refuse(who, "writing failed", file);
  };
  write_atomically(file, write, who);
}

}  // namespace plimsoll::data
