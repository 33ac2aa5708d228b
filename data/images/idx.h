// The idx format of MNIST and Fashion-MNIST (http://yann.lecun.com/exdb/mnist/):
//
//   00 00 08 03   magic: two zeros, type 08 = unsigned byte, 3 axes
//   N  H  W       32 bits each, most significant byte first
//   N * H * W     bytes of pixels; labels are the same with magic 00 00 08 01 and one axis
//
//   ImageDataset train = load_mnist("data/mnist", Split::train);
//
// The header is checked against the bytes that are there before it is believed.
#pragma once

#include "data/dataset.h"
#include "data/file.h"

namespace plimsoll::data {

// Mean and standard deviation of all training pixels / 255, to four digits as commonly published.
constexpr Normalization kMnistNormalization{{0.1307f}, {0.3081f, 1, 1}};
constexpr Normalization kFashionNormalization{{0.2860f}, {0.3530f, 1, 1}};

struct IdxArray {
  std::vector<int64_t> sizes;  // one per axis
  Bytes values;                // row-major
};

// Takes idx content apart. `name` is the file in messages. DataError: cut short, wrong magic, type
// or number of axes, sizes whose product overflows or is not the number of bytes that follow.
IdxArray parse_idx(Bytes bytes, int axes, const std::string& name);

// The four files of MNIST as published, each plain or with .gz: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte. DataError: what read_file and parse_idx refuse, no images, as
// many labels as images, labels >= 10.
ImageDataset load_mnist(const std::filesystem::path& dir, Split split);
ImageDataset load_fashion_mnist(const std::filesystem::path& dir, Split split);

}  // namespace plimsoll::data
