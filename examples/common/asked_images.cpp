#include "examples/common/asked_images.h"

#include <charconv>

#include "formats/picture_file.h"

namespace plimsoll::examples {
namespace {

// A whole number that `text` begins with is taken from it; -1: there is none.
int64_t take_number(std::string_view& text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

std::vector<int64_t> entries_of(const std::string& text, int64_t count) {
  std::vector<int64_t> entries;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const int64_t first = take_number(rest);
    int64_t last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    more = rest.starts_with(',');
    if (more) rest.remove_prefix(1);
    const bool good = first >= 0 && last >= first && (more || rest.empty());
    check<UsageError>(good, "--entry: these are no entries: ", text,
                      ". Give numbers and ranges, as in 17,30-35.");
    check<UsageError>(last < count, "--entry: there is no such image: ", last,
                      " of a test split with ", count, ". Count from 0 to ", count - 1, ".");
    for (int64_t entry = first; entry <= last; ++entry) entries.push_back(entry);
  }
  return entries;
}

AskedImages asked_images(const PredictOptions& options, const TrainedModel& trained) {
  const data::ImageDataset& test = trained.test;
  AskedImages asked{.images = {.name = "pictures",
                               .height = test.height,
                               .width = test.width,
                               .channels = test.channels,
                               .classes = test.classes,
                               .normalization = test.normalization,
                               .pixels = {},
                               .labels = {},
                               .class_names = trained.class_names},
                    .names = {},
                    .entry = {}};
  auto& [name, height, width, channels, classes, normalization, pixels, labels, classes_named] =
      asked.images;
  for (const std::string& file : options.pictures) {
    const data::Picture picture =
        data::fitted(formats::read_picture(file), file, trained.size(), options.fit);
    pixels.insert(pixels.end(), picture.pixels.begin(), picture.pixels.end());
    labels.push_back(0);
    asked.names.push_back(file);
    asked.entry.emplace_back();
  }
  if (options.entries.empty()) return asked;
  for (const int64_t entry : entries_of(options.entries, test.count())) {
    const auto first = test.pixels.begin() + entry * test.image_bytes();
    pixels.insert(pixels.end(), first, first + test.image_bytes());
    labels.push_back(test.labels[static_cast<size_t>(entry)]);
    asked.names.push_back(cat(test.name, " ", entry));
    asked.entry.emplace_back(entry);
  }
  return asked;
}

}  // namespace plimsoll::examples
