#include "train/predict/saved_model.h"

#include <sstream>

#include "memory/pool/pooled_allocator.h"
#include "train/batches.h"
#include "train/run_folder.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

// All or nothing. What the file says of the run.
formats::Metadata read_tensors(const fs::path& path, const nn::Module& model,
                               const formats::Metadata& same) {
  const AllocatorScope scope(std::make_shared<PooledAllocator>(host_provider()));  // in no plan
  const formats::Shards file(path);
  const formats::Metadata& metadata = file.metadata();
  for (const auto& [name, value] : same) {
    const auto found = metadata.find(name);
    const std::string saved = found == metadata.end() ? "none" : found->second;
    check<UsageError>(saved == value, "saved model: ", path.string(), " was saved with ", name, " ",
                      saved, ", not with ", value, ". Use the one that it was saved with.");
  }
  std::vector<NamedTensor> tensors = model.named_parameters();
  for (const NamedTensor& buffer : model.named_buffers()) tensors.push_back(buffer);
  for (const auto& [name, tensor] : tensors) {
    check<DataError>(file.has(name), "saved model: ", path.string(), " has no ", name,
                     ". It was saved by another model.");
    const Meta wanted{tensor.shape(), tensor.dtype(), Device::cpu}, found = file.meta(name);
    check<DataError>(found == wanted, "saved model: ", path.string(), " has another ", name, ": ",
                     found, " instead of ", wanted,
                     ". It was saved by another model, or for images of another size.");
  }
  for (const auto& [name, tensor] : tensors) file.read_into(name, tensor);
  return metadata;
}

std::string value_of(const formats::Metadata& metadata, const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : found->second;
}

}  // namespace

data::Normalization SavedModel::normalization() const {
  const std::string text = value_of(metadata, kNormalization);
  check<DataError>(!text.empty(), "saved model: the run says no normalization: ", file.string(),
                   ". Name one that was trained on images of a loader.");
  return parse_normalization(text);
}

std::vector<std::string> SavedModel::class_names() const {
  std::vector<std::string> names;
  std::istringstream all(value_of(metadata, kClassNames));
  for (std::string name; std::getline(all, name, '/');) names.push_back(name);
  return names;
}

SavedModel read_saved_model(const fs::path& run, const nn::Module& model,
                            const formats::Metadata& same, bool best) {
  const fs::path folder = RunFolder::saves_of(run);
  constexpr int kTries = 10;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    SavedModel saved{};
    bool removed = false;  // by the training, which keeps only a few, since they were listed
    for (const Save& save : list_saves(folder)) {
      if (best && !save.best) continue;
      try {
        check_whole(save.file);
      } catch (const DataError& e) {
        std::error_code none;
        removed = !fs::exists(save.file, none);
        if (removed) break;
        saved.damaged.push_back({save.file, e.what()});
        continue;
      }
      try {
        saved.metadata = read_tensors(save.file, model, same);
      } catch (const DataError&) {
        std::error_code none;
        removed = !fs::exists(save.file, none);
        if (!removed) throw;
        break;
      }
      saved.file = save.file;
      saved.batches = save.number;
      return saved;
    }
    if (removed) continue;
    check<DataError>(
        saved.damaged.empty(), "saved model: no file of ", folder.string(),
        " can be read. The newest: ", saved.damaged.empty() ? "" : saved.damaged.front().why);
    fail<DataError>("saved model: there is no ", best ? "best save" : "save", " in ",
                    folder.string(), " yet. Train until the first evaluation.");
  }
  fail<DataError>("saved model: the files of ", folder.string(), " were removed ", kTries,
                  " times while they were read. Keep more saves.");
}

}  // namespace plimsoll::train
