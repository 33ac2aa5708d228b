// CIFAR-10, binary version (https://www.cs.toronto.edu/~kriz/cifar.html): records of 3073 bytes,
//
//   1 byte label, 1024 bytes red, 1024 green, 1024 blue; each plane 32 rows of 32
//
//   ImageDataset train = load_cifar10("data/cifar10", Split::train);      // [50000, 32, 32, 3]
#pragma once

#include "data/dataset.h"
#include "data/file.h"

namespace plimsoll::data {

// Mean and standard deviation of all training pixels / 255, to four digits as commonly published.
constexpr Normalization kCifar10Normalization{{0.4914f, 0.4822f, 0.4465f},
                                              {0.2470f, 0.2435f, 0.2616f}};

constexpr int64_t kCifar10RecordBytes = 1 + 3 * 32 * 32;

// Appends the records in `bytes` to `dataset`, planes rearranged to [H, W, C]. `name` is the file
// in messages. DataError: no record, an incomplete one, a label >= 10.
void append_cifar10(const Bytes& bytes, const std::string& name, ImageDataset& dataset);

// Train: those of data_batch_1.bin ... data_batch_5.bin that are in `dir`, in this order, each of
// 10,000 records; when some are missing, the name of the dataset says so: "cifar10 train (4 of 5
// batches)". Test: test_batch.bin of 10,000 records, or a part of it that says its size, such as
// test_batch_2000.bin. Each may have .gz appended; of x.bin and x.bin.gz only the first is read.
// Files of other names are not looked at. DataError: a missing folder, none of these files, two
// test sets, another number of records, and what read_file and append_cifar10 refuse.
ImageDataset load_cifar10(const std::filesystem::path& dir, Split split);

}  // namespace plimsoll::data
