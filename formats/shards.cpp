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

// {"weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors", ...}}
std::map<std::string, std::string> read_index(const fs::path& path) {
  const Json index =
      data::parse_object(data::read_text(path), {.reader = "weights", .name = path.string()});
  const auto map = index.find("weight_map");
  check<DataError>(map != index.end() && map->is_object() && !map->empty(),
                   "weights: the index has no weight_map: ", path.string(),
                   ". Use the file as it was published.");
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : map->items()) {
    const bool plain = file.is_string() && !file.get<std::string>().empty() &&
                       fs::path(file.get<std::string>()).filename() == file.get<std::string>();
    check<DataError>(plain, "weights: the index does not name a file beside it: ", path.string(),
                     " for ", in_quotes(name), ". Use the file as it was published.");
    files.emplace(name, file.get<std::string>());
  }
  return files;
}

}  // namespace

Shards::Shards(const fs::path& path) : folder_(path) {
  std::error_code none;
  if (path.extension() == ".safetensors" || fs::is_regular_file(path, none)) {
    folder_ = path.parent_path();
    path.extension() == ".json" ? open_all(path) : open(path);
    return;
  }
  data::check_folder(path);
  const bool one = fs::exists(path / kOne, none);
  check<DataError>(one || fs::exists(path / kIndex, none),
                   "weights: there are none: ", path.string(), " has neither ", kOne, " nor ",
                   kIndex, ". Fetch them, or convert other files to safetensors.");
  one ? open(path / kOne) : open_all(path / kIndex);
}

void Shards::open_all(const fs::path& path) {
  std::error_code none;
  const fs::path& folder = folder_;
  const std::map<std::string, std::string> index = read_index(path);
  std::map<std::string, size_t> opened;
  for (const auto& [name, file] : index)
    if (opened.emplace(file, files_.size()).second) {
      check<DataError>(fs::exists(folder / file, none),
                       "weights: a shard is missing: ", (folder / file).string(),
                       ", which the index names for ", in_quotes(name), ". Fetch all of them.");
      open(folder / file);
    }
  for (const auto& [name, file] : index) {
    const auto place = places_.find(name);
    check<DataError>(place != places_.end() && file_names_[place->second] == file,
                     "weights: a shard has not got what the index says: ", (folder / file).string(),
                     " for ", in_quotes(name), ". Fetch the files of one version.");
  }
  for (const auto& [name, place] : places_)
    check<DataError>(index.contains(name),
                     "weights: a tensor is not in the index: ", in_quotes(name), " of ",
                     (folder / file_names_[place]).string(), ". Fetch the files of one version.");
}

void Shards::open(const fs::path& file) {
  files_.emplace_back(file);
  file_names_.push_back(file.filename().string());
  for (const std::string& name : files_.back().names()) {
    const auto [place, is_new] = places_.emplace(name, files_.size() - 1);
    check<DataError>(is_new, "weights: a tensor is in two shards: ", in_quotes(name), " in ",
                     (folder_ / file_names_[place->second]).string(), " and ", file.string(),
                     ". Fetch the files of one version.");
  }
}

std::vector<std::string> Shards::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

std::string Shards::file_name(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? folder_.string()
                                : (folder_ / file_names_[place->second]).string();
}

const Safetensors& Shards::file_of(const std::string& name) const {
  const auto place = places_.find(name);
  check<DataError>(place != places_.end(), "weights: there is no ", in_quotes(name), " in ",
                   folder_.string(), ". Use the weights that belong to the config.");
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

std::string index_text(const std::map<std::string, std::string>& files, int64_t bytes) {
  const Json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", files}};
  return index.dump(2) + "\n";
}

}  // namespace plimsoll::formats
