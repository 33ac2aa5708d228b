// Files that are there whole or not at all, whatever ends the process meanwhile.
//
//   write_atomically("runs/a/config.toml", text);
//
//   AtomicFile file("a.tokens");          // for what is written bit by bit
//   write_ids(file.temporary(), ids);     // a new file in the same folder
//   file.commit();
//
// The new file is written, synchronised with the disk and only then given its name, and the folder
// is synchronised too: after a crash the name stands for the old bytes or for the new ones.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace plimsoll::data {

class AtomicFile {
 public:
  // Makes an empty file beside `file`, "NAME.PID.N.tmp": nobody else's. A link is followed: it
  // stays, and what it leads to is replaced. DataError naming that file when its folder does not
  // take it, and when it is there and no regular file. Sentences begin with `who`.
  explicit AtomicFile(const std::filesystem::path& file, std::string who = "write");
  ~AtomicFile();  // without commit(), nothing is left
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // To fill, and to close before commit().
  const std::string& temporary() const { return temporary_; }
  // DataError naming the file when the disk does not take it: what was there before stays, but
  // when its folder, last of all, is not brought to the disk, either may be there after a crash.
  void commit();

 private:
  const std::string who_;
  const std::filesystem::path file_;
  std::string temporary_;
  bool committed_ = false;
};

// `write` gets the name of the temporary file. What it throws comes out. Errors: as AtomicFile.
void write_atomically(const std::filesystem::path& file,
                      const std::function<void(const std::filesystem::path& file)>& write,
                      const std::string& who = "write");
void write_atomically(const std::filesystem::path& file, std::string_view text,
                      const std::string& who = "write");

// Brings the names that a folder has to the disk. DataError.
void synchronise_folder(const std::filesystem::path& folder, const std::string& who = "write");
// And before them the bytes of its files.
void synchronise_files(const std::filesystem::path& folder, const std::string& who = "write");

// Where the bytes of a file of this name would go: links followed, also to a file not there yet.
// DataError, which begins with `who`, for links that lead nowhere and what is no regular file.
std::filesystem::path behind_links(const std::filesystem::path& name, const std::string& who);

// Removes what processes that were killed left of files and folders in a folder whose names begin
// so. Nobody may be writing one.
void remove_unfinished(const std::filesystem::path& folder, std::string_view prefix);

}  // namespace plimsoll::data
