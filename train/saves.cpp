#include "train/saves.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <set>

#include "core/ranks/ranks.h"
#include "data/atomic_file.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kBest = "-best", kSuffix = ".safetensors";

constexpr std::string_view kPart = "model";  // of a set
constexpr const char* kIndex = formats::Shards::kIndex;

std::string name_of(int64_t number, bool best) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%09lld", static_cast<long long>(number));
  return cat(kPrefix, digits, best ? kBest : "");
}

// The other way round, of a file or the folder of a set, whose index need not be there; nothing for
// a name that name_of() does not give.
std::optional<Save> save_named(const fs::path& path) {
  std::string name = path.filename().string();
  const bool is_file = name.ends_with(kSuffix);
  if (is_file) name.resize(name.size() - kSuffix.size());
  if (!name.starts_with(kPrefix)) return {};
  int64_t number = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  if (number < 0) return {};
  for (const bool best : {false, true})
    if (name == name_of(number, best)) return Save{number, best, is_file ? path : path / kIndex};
  return {};
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code none;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
       entry.increment(none))
    names.insert(entry->path().filename().string());
  return names;
}

// A file that stays does no harm. The index goes first: what is left of a set is none.
void remove_save(const fs::path& file) {
  std::error_code none;
  fs::remove(file, none);
  if (file.filename() == kIndex) fs::remove_all(file.parent_path(), none);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  check<DataError>(!error, "saves: the folder cannot be made: ", folder.string(), " (",
                   error.message(), "). Name one in a folder that exists and is yours.");
}

std::set<std::string> files_named_in(const fs::path& index) {
  std::set<std::string> files;
  for (const auto& [name, file] : formats::read_index(index)) files.insert(file);
  return files;
}

// Files of a set that its index does not name.
void remove_unnamed(const fs::path& index) {
  const std::set<std::string> named = files_named_in(index);
  std::error_code none;  // a file that stays does no harm
  for (const std::string& name : names_in(index.parent_path()))
    if (name.starts_with(kPart) && name != kIndex && !named.contains(name))
      fs::remove(index.parent_path() / name, none);
}

// What killed writes left. A damaged set stays, to be looked at.
void clean(const fs::path& folder) {
  data::remove_unfinished(folder, kPrefix);
  std::error_code none;
  for (const std::string& name : names_in(folder)) {
    const std::optional<Save> save = save_named(folder / name);
    if (!save || save->file.filename() != kIndex) continue;
    if (fs::exists(fs::path(save->file) += ".damaged", none)) continue;
    if (!fs::exists(save->file, none)) {
      fs::remove_all(folder / name, none);
      continue;
    }
    try {
      remove_unnamed(save->file);
    } catch (const DataError&) {  // named when it is restored
    }
  }
}

}  // namespace

std::vector<Save> list_saves(const fs::path& folder) {
  std::vector<Save> saves;
  std::error_code error, none;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (auto save = save_named(entry->path()); save && fs::exists(save->file, none))
      saves.push_back(std::move(*save));
  check<DataError>(!error || error == std::errc::no_such_file_or_directory,
                   "saves: the folder cannot be read: ", folder.string(), " (", error.message(),
                   "). Check its permissions and the disk.");
  std::ranges::sort(saves, [](const Save& a, const Save& b) {
    return std::pair(a.number, a.best) > std::pair(b.number, b.best);
  });
  return saves;
}

fs::path file_named(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none) && fs::exists(path / kIndex, none) ? path / kIndex : path;
}

fs::path named_part(const fs::path& file) {
  return file.filename() == kIndex ? file.parent_path() : file;
}

bool is_best(const fs::path& file) { return named_part(file).stem().string().ends_with(kBest); }

Saves::Saves(fs::path folder, int64_t keep, Ranks* ranks)
    : folder_(std::move(folder)), keep_(keep), ranks_(ranks), memory_(unplanned_pool()) {
  check<ValueError>(keep >= 1, "saves: none would be kept: ", keep, ". Keep 1 or more.");
  if (together() && ranks_->rank() != 0) return;
  make_folder(folder_);
  clean(folder_);
}

Saves::~Saves() = default;  // a future of std::async waits for its thread

bool Saves::together() const { return ranks_ && ranks_->size() > 1; }

void Saves::save(int64_t number, const State& state, bool best) {
  finish();
  const AllocatorScope scope(memory_);
  const std::string name = name_of(number, best);
  if (together()) return write_part({number, best, folder_ / name / kIndex}, state);
  Save save{number, best, folder_ / cat(name, kSuffix)};
  writing_ =
      std::async(std::launch::async, [this, save = std::move(save), copy = state.copy()]() mutable {
        data::write_atomically(save.file, [&](const fs::path& file) { write_state(file, copy); });
        remove_old(save);
        copy = {};
      });
}

// The files of a set that is there already stay until another index has replaced its own: so new
// ones have other names, model2-... for example, which no index has had: a reader that found an
// older one opens none of them.
void Saves::write_part(const Save& save, const State& state) {
  const int64_t rank = ranks_->rank(), ranks = ranks_->size();
  const fs::path folder = save.file.parent_path();
  const auto files_of = [](int64_t n) { return cat(kPart, n > 1 ? cat(n) : "", "-"); };
  int64_t nth = 1;
  if (rank == 0) {
    make_folder(folder);
    for (const std::string& name : names_in(folder)) {
      if (!name.starts_with(kPart)) continue;
      uint64_t n = name.starts_with(files_of(1)) ? 1 : 0;  // which "-" leaves as it is
      std::from_chars(name.data() + kPart.size(), name.data() + name.size(), n);
      nth = std::max(nth, static_cast<int64_t>(n) + 1);
    }
  }
  ranks_->broadcast(&nth, sizeof nth, 0);  // now the folder is there
  const auto file_of = [&](int64_t r) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%05lld-of-%05lld", static_cast<long long>(r + 1),
                  static_cast<long long>(ranks));
    return cat(files_of(nth), numbers, kSuffix);
  };
  std::map<std::string, std::string> files;
  int64_t bytes = 0;
  for (const State::Share& share : state.shares(ranks)) {
    if (!share.saved) continue;
    files[share.name] = file_of(share.rank);
    bytes += share.bytes;
  }
  set_ = {save, formats::index_text(files, bytes)};
  writing_ = std::async(std::launch::async, [file = folder / file_of(rank),
                                             copy = state.copy(rank, ranks)]() mutable {
    if (!copy.tensors.empty())
      data::write_atomically(file, [&](const fs::path& name) { write_state(name, copy); });
    copy = {};
  });
}

void Saves::look() {
  if (!together() || !writing_.valid()) return;
  const int64_t busy = writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (std::ranges::max(gathered(*ranks_, busy)) == 0) finish();
}

void Saves::finish() {
  if (!writing_.valid()) return;
  writing_.get();
  if (!together()) return;
  gathered(*ranks_, ranks_->rank());  // now all files are there
  if (ranks_->rank() != 0) return;
  const fs::path& index = set_.save.file;
  data::write_atomically(index, set_.index);
  data::synchronise_folder(folder_);  // which may not have had this set before
  remove_unnamed(index);
  remove_old(set_.save);
}

void Saves::remove_old(const Save& save) const {
  int64_t kept = 0;
  bool best = false;
  for (const Save& old : list_saves(folder_)) {
    const bool replaced = old.number == save.number && old.file != save.file;
    if (!replaced && (kept < keep_ || (old.best && !best))) {
      ++kept;
      best |= old.best;
    } else if (old.file != save.file) {  // higher numbers may be of damaged files
      remove_save(old.file);
    }
  }
}

NewestSave newest_save(const fs::path& folder, bool best) {
  NewestSave newest;
  for (const Save& save : list_saves(folder)) {
    if (best && !save.best) continue;
    try {
      check_whole(save.file);
      newest.save = save;
      return newest;
    } catch (const DataError& e) {
      std::error_code none;
      // Removed by a training, which keeps only a few, since they were listed: there is a newer.
      if (!fs::exists(save.file, none)) return newest_save(folder, best);
      newest.damaged.push_back({save.file, e.what()});
    }
  }
  check<DataError>(
      newest.damaged.empty(), "saves: no file of ", folder.string(),
      " can be read. The newest: ", newest.damaged.empty() ? "" : newest.damaged.front().why);
  return newest;
}

Restored restore_newest(const fs::path& folder, const State& state) {
  NewestSave newest = newest_save(folder);
  Restored restored{.damaged = std::move(newest.damaged)};
  if (!newest.save) return restored;
  restored.changed = state.restore(newest.save->file);
  restored.file = newest.save->file;
  return restored;
}

void copy_best(const fs::path& from, const fs::path& to) {
  const std::vector<Save> saves = list_saves(from);
  const auto best = std::ranges::find_if(saves, &Save::best);
  if (best == saves.end()) return;
  const auto copy = [](const fs::path& old, const fs::path& made) {
    data::write_atomically(made, [&](const fs::path& file) {
      std::error_code error;
      fs::copy_file(old, file, fs::copy_options::overwrite_existing, error);
      check<DataError>(!error, "saves: the best state cannot be copied: ", old.string(), " (",
                       error.message(), "). Look at the folder and the space on the disk.");
    });
  };
  const fs::path old = named_part(best->file), made = to / old.filename();
  if (old == best->file) return copy(old, made);
  make_folder(made);
  for (const std::string& name : files_named_in(best->file)) copy(old / name, made / name);
  copy(best->file, made / kIndex);
  data::synchronise_folder(to);
}

void set_aside(const Damaged& damaged) {
  std::error_code none;
  fs::rename(damaged.file, fs::path(damaged.file) += ".damaged", none);
}

}  // namespace plimsoll::train
