// Saves: the states of a run as files of one folder, written in the background.
//
//   train::Saves saves("runs/a/saves", /*keep=*/3);
//   saves.save(batches, state, /*best=*/false);    // returns when the state is copied
//   saves.finish();                                // when training ends
//   train::restore_newest("runs/a/saves", state);  // in another process
//
// "step-000000120.safetensors" is the state after 120 batches, and "step-000000120-best..." was the
// best when it was written. The newest is found by listing the folder. A file has its name only
// when all of it is on the disk, so the newest name is whole also when a process is killed or the
// disk is full; should a disk lose bytes, the checksum shows it and the one before is taken.
//
// Ranks that train together write a set of files side by side, whole tensors each: a folder
// "step-000000120" with "model-00001-of-00002.safetensors" and so on, and the index that says which
// of them has what. That is written last, by the first rank, when all files are on the disk: it is
// what is found and restored, and without it a folder is no save.
#pragma once

#include <future>
#include <optional>

#include "train/state.h"

namespace plimsoll {
class PooledAllocator;
class Ranks;
}  // namespace plimsoll

namespace plimsoll::train {

struct Save {
  int64_t number;  // batches
  bool best;
  std::filesystem::path file;  // of a set, its index
};

// What to read where a folder or a file is named: the index of the folder of a set, else `path`.
std::filesystem::path file_named(const std::filesystem::path& path);
// What has the number in its name: the file, or of an index its folder.
std::filesystem::path named_part(const std::filesystem::path& file);
bool is_best(const std::filesystem::path& file);

// The newest first. Files of other names are none. Nothing where there is no such folder; DataError
// for one that cannot be read.
std::vector<Save> list_saves(const std::filesystem::path& folder);

class Saves {
 public:
  // Makes the folder where there is none, and removes what killed writes left of their files. One
  // object at a time for a folder; of several ranks one on each, which call everything together,
  // and the first does that. ValueError for keep < 1, DataError for a folder that cannot be made.
  Saves(std::filesystem::path folder, int64_t keep, Ranks* ranks = nullptr);
  // Waits for the file being written; call finish() to hear how it went.
  ~Saves();

  // Copies the state into host memory of its own, in no plan and no limit, State::bytes() in all;
  // the rest is done meanwhile: the file, then the removal of all but the newest `keep` and the
  // newest best. When the file before is not written yet, waits for it first. What went wrong with
  // that one (DataError: the disk is full) comes out here or in finish(), once.
  void save(int64_t number, const State& state, bool best);
  // Of ranks, now and then: ends a save whose files all of them have written.
  void look();
  void finish();

 private:
  bool together() const;
  void write_part(const Save& save, const State& state);
  void remove_old(const Save& save) const;

  const std::filesystem::path folder_;
  const int64_t keep_;
  Ranks* const ranks_;
  const std::shared_ptr<PooledAllocator> memory_;
  std::future<void> writing_;
  struct Set {
    Save save;
    std::string index;  // its text
  } set_;               // that is being written
};

struct Damaged {
  std::filesystem::path file;
  std::string why;  // a sentence
};

struct NewestSave {
  std::optional<Save> save;      // none: there are no files
  std::vector<Damaged> damaged;  // newer ones
};

// The newest file that is whole; `best`: of those that were the best when they were written. A
// training may go on in that folder. DataError where all are damaged.
NewestSave newest_save(const std::filesystem::path& folder, bool best = false);

// What restore_newest() took, and newer ones that it could not.
struct Restored {
  std::filesystem::path file = {};  // empty: there were none
  std::vector<Changed> changed = {};
  std::vector<Damaged> damaged = {};
};

// Restores newest_save(), if there is one. DataError as that; else as State::restore().
Restored restore_newest(const std::filesystem::path& folder, const State& state);

// The newest best save of a folder into another, where there is one. DataError: the disk is full.
void copy_best(const std::filesystem::path& from, const std::filesystem::path& to);

// Renames it to "*.damaged", so that it is no save any more: a run that goes on does not keep it.
void set_aside(const Damaged& damaged);

}  // namespace plimsoll::train
