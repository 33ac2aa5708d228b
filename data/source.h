// Where data comes from, as written on a command line after --data.
//
//   ImageSource images = load_images("mnist:data/mnist");
//   TextDataset text = load_text("builtin");
#pragma once

#include "data/dataset.h"
#include "data/text.h"

namespace plimsoll::data {

// What the two functions accept, for --help.
constexpr const char* kImageSources = "builtin | mnist:DIR | fashion:DIR | cifar10:DIR";
constexpr const char* kTextSources = "builtin | text:FILE";

struct ImageSource {
  ImageDataset train, test;
};

// UsageError for anything else, listing what is accepted; DataError from reading.
ImageSource load_images(const std::string& source);
TextDataset load_text(const std::string& source);

}  // namespace plimsoll::data
