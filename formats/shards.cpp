#include "formats/shards.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/engine/call.h"
#include "data/file.h"
#include "data/json.h"
#include "formats/safetensors_header.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kOne = "model.safetensors";

}  // namespace

Shards::Shards(const fs::path& path) : folder_(path), path_(path) {
  std::error_code none;
  if (path.extension() == ".safetensors" || fs::is_regular_file(path, none)) {
    folder_ = path.parent_path();
    path.extension() == ".json" ? open_all(path) : open(path);
    return;
  }
  data::check_folder(path);
  const bool one = fs::exists(path / kOne, none);
  check<DataError>(one || fs::exists(path / kIndex, none),
                   "safetensors: there are no weights: ", path.string(), " has neither ", kOne,
                   " nor ", kIndex, ". Fetch them, or convert other files to safetensors.");
  path_ = path / (one ? kOne : kIndex);
  one ? open(path_) : open_all(path_);
}

void Shards::open_all(const fs::path& path) {
  constexpr int kTries = 10;  // the set may be written anew meanwhile
  for (int attempt = 1;; ++attempt) {
    try {
      return open_named(path, read_index(path));
    } catch (const DataError&) {
      if (attempt == kTries) throw;
      files_.clear();
      file_names_.clear();
      places_.clear();
    }
  }
}

void Shards::open_named(const fs::path& path, const std::map<std::string, std::string>& index) {
  std::error_code none;
  std::map<std::string, size_t> opened;
  for (const auto& [name, file] : index)
    if (opened.emplace(file, files_.size()).second) {
      check<DataError>(fs::exists(folder_ / file, none),
                       "safetensors: a shard is missing: ", (folder_ / file).string(),
                       ", which the index names for ", in_quotes(name),
                       ". Bring back the files of one version.");
      open(folder_ / file);
    }
  for (const auto& [name, file] : index) {
    const auto place = places_.find(name);
    check<DataError>(
        place != places_.end() && file_names_[place->second] == file,
        "safetensors: a shard has not got what the index says: ", (folder_ / file).string(),
        " for ", in_quotes(name), ". Bring back the files of one version.");
  }
  for (const auto& [name, place] : places_)
    check<DataError>(index.contains(name),
                     "safetensors: a tensor is not in the index: ", in_quotes(name), " of ",
                     (folder_ / file_names_[place]).string(), " in ", path.string(),
                     ". Bring back the files of one version.");
}

void Shards::open(const fs::path& file) {
  files_.emplace_back(file);
  file_names_.push_back(file.filename().string());
  for (const std::string& name : files_.back().names()) {
    const auto [place, is_new] = places_.emplace(name, files_.size() - 1);
    check<DataError>(is_new, "safetensors: a tensor is in two shards: ", in_quotes(name), " in ",
                     (folder_ / file_names_[place->second]).string(), " and ", file.string(),
                     ". Bring back the files of one version.");
  }
}

std::vector<std::string> Shards::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

std::string Shards::file_name(const std::string& name) const {
  const auto place = places_.find(name);
  return (place == places_.end() ? path_ : folder_ / file_names_[place->second]).string();
}

const Safetensors& Shards::file_of(const std::string& name) const {
  const auto place = places_.find(name);
  check<DataError>(place != places_.end(), "safetensors: there is no ", in_quotes(name), " in ",
                   path_.string(), ". Use the files that belong to this model.");
  return files_[place->second];
}

std::string Shards::beginnings() const {
  constexpr int64_t kBytes = 1024;
  std::string text;
  for (const std::string& name : names()) {
    const Tensor tensor = mapped(name);
    text += cat(name, " ", tensor.meta(), "\n");
    const View view = view_of(tensor.value());
    text.append(view.as<const char>(), static_cast<size_t>(std::min(kBytes, bytes_of(view.meta))));
  }
  return text;
}

std::map<std::string, std::string> parse_index(std::string_view text, const std::string& name) {
  const Json index = data::parse_object(text, {.reader = "safetensors", .name = name});
  const auto map = index.find("weight_map");
  check<DataError>(map != index.end() && map->is_object() && !map->empty(),
                   "safetensors: the index has no weight_map: ", name,
                   ". Use the file as it was written.");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string beside = file.is_string() ? file.get<std::string>() : "";
    const bool plain =
        !beside.empty() && beside != "." && beside != ".." && fs::path(beside).filename() == beside;
    check<DataError>(plain, "safetensors: the index does not name a file beside it: ", name,
                     " for ", in_quotes(tensor), ". Use the file as it was written.");
    files.emplace(tensor, beside);
  }
  return files;
}

std::map<std::string, std::string> read_index(const fs::path& file) {
  return parse_index(data::read_text(file), file.string());
}

std::string index_text(const std::map<std::string, std::string>& files, int64_t bytes) {
  const Json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", files}};
  return index.dump(2) + "\n";
}

}  // namespace plimsoll::formats
