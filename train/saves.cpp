#include "train/saves.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "data/atomic_file.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kBest = "-best", kSuffix = ".safetensors";

std::string name_of(int64_t number, bool best) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%09lld", static_cast<long long>(number));
  return cat(kPrefix, digits, best ? kBest : "", kSuffix);
}

// The other way round; nothing for a name that name_of() does not give.
std::optional<Save> save_named(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(kPrefix)) return {};
  const char* const begin = name.data() + kPrefix.size();
  int64_t number = -1;
  std::from_chars(begin, name.data() + name.size(), number);
  for (const bool best : {false, true})
    if (number >= 0 && name == name_of(number, best)) return Save{number, best, file};
  return {};
}

}  // namespace

std::vector<Save> list_saves(const fs::path& folder) {
  std::vector<Save> saves;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (auto save = save_named(entry->path())) saves.push_back(std::move(*save));
  check<DataError>(!error || error == std::errc::no_such_file_or_directory,
                   "saves: the folder cannot be read: ", folder.string(), " (", error.message(),
                   "). Check its permissions and the disk.");
  std::ranges::sort(saves, [](const Save& a, const Save& b) {
    return std::pair(a.number, a.best) > std::pair(b.number, b.best);
  });
  return saves;
}

Saves::Saves(fs::path folder, int64_t keep)
    : folder_(std::move(folder)),
      keep_(keep),
      memory_(std::make_shared<PooledAllocator>(host_provider())) {
  check<ValueError>(keep >= 1, "saves: none would be kept: ", keep, ". Keep 1 or more.");
  std::error_code error;
  fs::create_directories(folder_, error);
  check<DataError>(!error, "saves: the folder cannot be made: ", folder_.string(), " (",
                   error.message(), "). Name one in a folder that exists and is yours.");
  data::remove_unfinished(folder_, kPrefix);
}

Saves::~Saves() = default;  // a future of std::async waits for its thread

void Saves::save(int64_t number, const State& state, bool best) {
  finish();
  const AllocatorScope scope(memory_);
  Save save{number, best, folder_ / name_of(number, best)};
  writing_ =
      std::async(std::launch::async, [this, save = std::move(save), copy = state.copy()]() mutable {
        write(save, copy);
        copy = {};
      });
}

void Saves::finish() {
  if (writing_.valid()) writing_.get();
}

void Saves::write(const Save& save, const StateCopy& copy) const {
  data::write_atomically(save.file, [&](const fs::path& file) { write_state(file, copy); });
  std::error_code none;  // a file that stays does no harm
  int64_t kept = 0;
  bool best = false;
  for (const Save& old : list_saves(folder_)) {
    const bool replaced = old.number == save.number && old.file != save.file;
    if (!replaced && (kept < keep_ || (old.best && !best))) {
      ++kept;
      best |= old.best;
    } else if (old.file != save.file) {  // higher numbers may be of damaged files
      fs::remove(old.file, none);
    }
  }
}

Restored restore_newest(const fs::path& folder, const State& state) {
  Restored restored;
  for (const Save& save : list_saves(folder)) {
    try {
      check_whole(save.file);
    } catch (const DataError& e) {
      restored.damaged.push_back({save.file, e.what()});
      continue;
    }
    restored.changed = state.restore(save.file);
    restored.file = save.file;
    return restored;
  }
  check<DataError>(
      restored.damaged.empty(), "saves: no file of ", folder.string(),
      " can be read. The newest: ", restored.damaged.empty() ? "" : restored.damaged.front().why);
  return restored;
}

void copy_best(const fs::path& from, const fs::path& to) {
  const std::vector<Save> saves = list_saves(from);
  const auto best = std::ranges::find_if(saves, &Save::best);
  if (best == saves.end()) return;
  data::write_atomically(to / best->file.filename(), [&](const fs::path& file) {
    std::error_code error;
    fs::copy_file(best->file, file, fs::copy_options::overwrite_existing, error);
    check<DataError>(!error, "saves: the best state cannot be copied: ", best->file.string(), " (",
                     error.message(), "). Look at the folder and the space on the disk.");
  });
}

void set_aside(const Damaged& damaged) {
  std::error_code none;
  fs::rename(damaged.file, fs::path(damaged.file) += ".damaged", none);
}

}  // namespace plimsoll::train
