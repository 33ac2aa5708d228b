#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "data/atomic_file.h"
#include "train/saves.h"

namespace plimsoll::train {

RunFolder::RunFolder(std::filesystem::path path, bool resume) : path_(std::move(path)) {
  std::error_code error;
  for (std::filesystem::path part = std::filesystem::absolute(path_, error).lexically_normal();
       !error && !std::filesystem::exists(part, error) && part.has_relative_path();
       part = part.parent_path())
    if (part.has_filename()) made_.push_back(part);
  error.clear();
  std::filesystem::create_directories(path_, error);
  if (!error) {
    lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0) error = std::error_code(errno, std::generic_category());
  }
  check<UsageError>(!error, "run: the folder cannot be made: ", path_.string(), " (",
                    error.message(), "). Name one in a folder that exists and is yours.");
  // The lock goes with the process, however that ends. No lock where folders cannot be locked.
  const bool taken = flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const bool used = !resume && !list_saves(saves()).empty();
  if (taken || used) close(lock_);
  check<UsageError>(!taken, "run: another process trains in this folder: ", path_.string(),
                    ". Wait for it, or name another folder.");
  check<UsageError>(!used, "run: there is a training in this folder: ", path_.string(),
                    ". Resume it, or name another folder.");
  for (const char* name : {"config.toml.", "log.csv.", "metrics.jsonl."})
    data::remove_unfinished(path_, name);
}

RunFolder::~RunFolder() {
  std::error_code not_empty;
  for (const std::filesystem::path& folder : made_) std::filesystem::remove(folder, not_empty);
  close(lock_);
}

}  // namespace plimsoll::train
