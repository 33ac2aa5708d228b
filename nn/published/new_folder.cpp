#include "nn/published/new_folder.h"

#include <unistd.h>

#include "core/base/error.h"
#include "data/atomic_file.h"

namespace plimsoll::published {

namespace fs = std::filesystem;

namespace {

// Removed again unless it got its name.
class Fresh {
 public:
  Fresh(const fs::path& folder, const std::string& who) : path_(folder) {
    path_ += cat(".", ::getpid(), ".tmp");
    std::error_code error;
    const bool made = fs::create_directory(path_, error);  // before the message has its error
    check<DataError>(made, who, ": the folder cannot be made: ", folder.string(),
                     error ? cat(" (", error.message(), ")") : "",
                     ". Name one in a folder that exists and is yours.");
  }
  ~Fresh() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

void make_folder(const fs::path& folder, const std::string& who,
                 const std::function<void(const fs::path& fresh)>& write) {
  const fs::path whole = folder.has_filename() ? folder : folder.parent_path();
  std::error_code error;
  check<DataError>(!fs::exists(fs::symlink_status(whole, error)), who,
                   ": this is there already: ", whole.string(), ". Name a new folder.");
  const Fresh fresh(whole, who);
  write(fresh.path());
  data::synchronise_files(fresh.path(), who);
  fs::rename(fresh.path(), whole, error);
  check<DataError>(!error, who, ": the folder cannot get its name: ", whole.string(), " (",
                   error.message(), "). Name one in a folder that exists and is yours.");
  const fs::path parent = whole.parent_path();
  data::synchronise_folder(parent.empty() ? "." : parent, who);
}

}  // namespace plimsoll::published
