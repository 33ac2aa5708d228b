#include "data/cifar10.h"

#include <map>

#include "core/cpu/parallel.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPlane = int64_t{32} * 32;

// Files `prefix`*.bin and `prefix`*.bin.gz by their name without .gz.
std::map<std::string, fs::path> batch_files(const fs::path& dir, const std::string& prefix) {
  std::map<std::string, fs::path> files;
  std::error_code error;
  const fs::directory_iterator entries(dir, error);
  check<DataError>(!error, "cifar10: the folder cannot be listed: ", dir.string(), " (",
                   error.message(), "). Name a folder that may be read.");
  for (const auto& entry : entries) {
    fs::path name = entry.path().filename();
    const bool gzip = name.extension() == ".gz";
    if (gzip) name = name.stem();
    if (name.extension() != ".bin" || !name.string().starts_with(prefix)) continue;
    if (gzip)
      files.try_emplace(name.string(), entry.path());
    else
      files.insert_or_assign(name.string(), entry.path());
  }
  return files;
}

}  // namespace

void append_cifar10(const Bytes& bytes, const std::string& name, ImageDataset& dataset) {
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t records = size / kCifar10RecordBytes;
  check<DataError>(records > 0 && size % kCifar10RecordBytes == 0,
                   "cifar10: the file is not whole records of ", kCifar10RecordBytes,
                   " bytes: ", name, " has ", size, " bytes. Fetch it again.");
  for (int64_t i = 0; i < records; ++i) {
    const int label = bytes[static_cast<size_t>(i * kCifar10RecordBytes)];
    check<DataError>(label < 10, "cifar10: a label is out of range: ", name, " record ", i,
                     " has label ", label, " of 10 classes. Fetch it again.");
  }
  const int64_t first = dataset.count();
  dataset.labels.resize(static_cast<size_t>(first + records));
  dataset.pixels.resize(static_cast<size_t>((first + records) * 3 * kPlane));
  parallel_for(records, grain_for(3 * kPlane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* record = bytes.data() + i * kCifar10RecordBytes;
      uint8_t* image = dataset.pixels.data() + (first + i) * 3 * kPlane;
      dataset.labels[static_cast<size_t>(first + i)] = record[0];
      for (int64_t pixel = 0; pixel < kPlane; ++pixel)
        for (int64_t channel = 0; channel < 3; ++channel)
          image[3 * pixel + channel] = record[1 + channel * kPlane + pixel];
    }
  });
}

ImageDataset load_cifar10(const fs::path& dir, Split split) {
  check_folder(dir);
  const std::string prefix = split == Split::train ? "data_batch_" : "test_batch";
  const auto files = batch_files(dir, prefix);
  check<DataError>(!files.empty(), "cifar10: no file ", prefix, "*.bin or ", prefix,
                   "*.bin.gz is in the folder: ", dir.string(),
                   ". Check the path, or fetch the data with get_data.");
  ImageDataset dataset{.name = cat("cifar10 ", name_of(split)),
                       .height = 32,
                       .width = 32,
                       .channels = 3,
                       .classes = 10,
                       .normalization = kCifar10Normalization,
                       .pixels = {},
                       .labels = {}};
  for (const auto& [name, path] : files) append_cifar10(read_file(path), path.string(), dataset);
  return dataset;
}

}  // namespace plimsoll::data
