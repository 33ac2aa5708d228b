#include "data/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const char* what, const fs::path& file) {
  const int reason = errno;
  fail<DataError>("write: ", what, ": ", file.string(), " (", std::strerror(reason),
                  "). Look at its folder and the space on the disk.");
}

// What was written to a file, or which names a folder has, is on the disk when this returns.
void synchronise(const fs::path& name, int flags, const fs::path& file) {
  const int opened = open(name.c_str(), flags | O_CLOEXEC);
  if (opened < 0) refuse("it cannot be opened again", file);
  const int result = fsync(opened);
  const int reason = errno;
  close(opened);
  errno = reason;
  // Some file systems do not synchronise folders, and say so.
  if (result != 0 && !(reason == EINVAL && flags & O_DIRECTORY))
    refuse("it cannot be brought to the disk", file);
}

}  // namespace

// O_EXCL, so that nothing that is there is opened.
AtomicFile::AtomicFile(fs::path file) : file_(std::move(file)) {
  for (int i = 0;; ++i) {
    temporary_ = cat(file_.string(), ".", getpid(), ".", i, ".tmp");
    const int opened = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (opened >= 0) {
      close(opened);
      return;
    }
    if (errno != EEXIST) refuse("the file cannot be made", file_);
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  synchronise(temporary_, O_WRONLY, file_);
  if (std::rename(temporary_.c_str(), file_.c_str()) != 0)
    refuse("it cannot be given its name", file_);
  committed_ = true;
  const fs::path folder = file_.parent_path();
  synchronise(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, file_);
}

void write_atomically(const fs::path& file, const std::function<void(const fs::path&)>& write) {
  AtomicFile whole(file);
  write(whole.temporary());
  whole.commit();
}

void remove_unfinished(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> unfinished;
  std::error_code none;  // a file that stays does no harm
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const fs::path& file = entry.path();
    if (file.filename().string().starts_with(prefix) && file.extension() == ".tmp")
      unfinished.push_back(file);
  }
  for (const fs::path& file : unfinished) fs::remove(file, none);
}

void write_atomically(const fs::path& file, std::string_view text) {
  write_atomically(file, [&](const fs::path& name) {
    std::FILE* const out = std::fopen(name.c_str(), "wb");
    const bool written = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    const bool closed = out && std::fclose(out) == 0;
    if (!written || !closed) refuse("writing failed", file);
  });
}

}  // namespace plimsoll::data
