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
  const AllocatorScope scope(unplanned_pool());
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

}  // namespace

data::Normalization SavedModel::normalization() const {
  const std::string text = formats::value_of(metadata, kNormalization);
  check<DataError>(!text.empty(), "saved model: the run says no normalization: ", file.string(),
                   ". Name one that was trained on images of a loader.");
  return parse_normalization(text);
}

std::vector<std::string> SavedModel::class_names() const {
  std::vector<std::string> names;
  std::istringstream all(formats::value_of(metadata, kClassNames));
  for (std::string name; std::getline(all, name, '/');) names.push_back(name);
  return names;
}

SavedModel read_saved_model(const fs::path& run, const nn::Module& model,
                            const formats::Metadata& same, bool best) {
  const fs::path folder = RunFolder::saves_of(run);
  constexpr int kTries = 10;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    NewestSave newest = newest_save(folder, best);
    check<DataError>(newest.save.has_value(), "saved model: there is no ",
                     best ? "best save" : "save", " in ", folder.string(),
                     " yet. Train until the first evaluation.");
    const Save& save = *newest.save;
    try {
      return {save.file, save.number, std::move(newest.damaged),
              read_tensors(save.file, model, same)};
    } catch (const DataError&) {
      std::error_code none;
      if (fs::exists(save.file, none)) throw;  // else a training has removed it since it was found
    }
  }
  fail<DataError>("saved model: the files of ", folder.string(), " were removed ", kTries,
                  " times while they were read. Keep more saves.");
}

}  // namespace plimsoll::train
