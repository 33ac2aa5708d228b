#include "data/images/cifar10.h"

#include <charconv>
#include <cstring>
#include <map>

#include "core/cpu/parallel.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPlane = int64_t{32} * 32;

constexpr int64_t kPublishedRecords = 10'000;
constexpr int kTrainBatches = 5;

struct BatchFile {
  fs::path path;
  int64_t records;  // that it must hold
};

// What the file name without .bin and .gz says of the number of records: that of the published
// file, or N of "test_batch_N"; 0 when it is none of the names of this split.
int64_t records_named(const std::string& name, Split split) {
  if (split == Split::train) {
    const bool batch = name.size() == 12 && name.starts_with("data_batch_") && name[11] >= '1' &&
                       name[11] < '1' + kTrainBatches;
    return batch ? kPublishedRecords : 0;
  }
  if (name == "test_batch") return kPublishedRecords;
  if (!name.starts_with("test_batch_")) return 0;
  int64_t records = 0;
  const auto [stop, error] =
      std::from_chars(name.data() + std::strlen("test_batch_"), name.data() + name.size(), records);
  return error == std::errc{} && stop == name.data() + name.size() && records > 0 ? records : 0;
}

// The files of a split in the order of their names; of x.bin and x.bin.gz the first.
std::map<std::string, BatchFile> batch_files(const fs::path& dir, Split split) {
  std::map<std::string, BatchFile> files;
  std::error_code error;
  fs::directory_iterator entry(dir, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    fs::path name = entry->path().filename();
    const bool gzip = name.extension() == ".gz";
    if (gzip) name = name.stem();
    if (name.extension() != ".bin") continue;
    const std::string stem = name.stem().string();
    const int64_t records = records_named(stem, split);
    if (records > 0 && (!gzip || !files.contains(stem)))
      files.insert_or_assign(stem, BatchFile{entry->path(), records});
  }
  check<DataError>(!error, "cifar10: the folder cannot be listed: ", dir.string(), " (",
                   error.message(), "). Name a folder that may be read.");
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
  const bool train = split == Split::train;
  const auto files = batch_files(dir, split);
  check<DataError>(!files.empty(), "cifar10: no file ",
                   train ? "data_batch_1.bin to data_batch_5.bin" : "test_batch.bin",
                   ", with or without .gz, is in the folder: ", dir.string(),
                   ". Check the path, or fetch the data with tools/get_data.sh.");
  check<DataError>(train || files.size() == 1, "cifar10: the folder has ", files.size(),
                   " test sets: ", files.begin()->second.path.string(), " and ",
                   files.rbegin()->second.path.string(), ". Leave one of them there.");
  const auto found = static_cast<int>(files.size());
  ImageDataset dataset{.name = cat("cifar10 ", name_of(split)),
                       .height = 32,
                       .width = 32,
                       .channels = 3,
                       .classes = 10,
                       .normalization = kCifar10Normalization,
                       .pixels = {},
                       .labels = {},
                       .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog",
                                       "frog", "horse", "ship", "truck"}};
  if (train && found < kTrainBatches)
    dataset.name += cat(" (", found, " of ", kTrainBatches, " batches)");
  for (const auto& [name, file] : files) {
    const int64_t before = dataset.count();
    append_cifar10(read_file(file.path), file.path.string(), dataset);
    check<DataError>(
        dataset.count() - before == file.records,
        "cifar10: the file has not as many records as its name says: ", file.path.string(), " has ",
        dataset.count() - before, " of ", file.records, ". Fetch it again.");
  }
  return dataset;
}

}  // namespace plimsoll::data
