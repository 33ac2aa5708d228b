#include "examples/common/predictions.h"

#include <charconv>
#include <cstdio>
#include <string>

#include "formats/image_folder.h"
#include "formats/picture_file.h"
#include "train/pictures/pages.h"

namespace plimsoll::examples {
namespace {

// The shortest number that reads back to the same float.
double shortest(float value) { return std::stod(cat(value)); }

// A whole number that `text` begins with is taken from it; -1: there is none.
int64_t take_number(std::string_view& text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// "17,30-35": {17, 30, 31, ..., 35}. UsageError for anything else, and for what is not below
// `count`.
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

}  // namespace

AskedImages asked_images(const PredictOptions& options, const TrainedModel& trained) {
  const data::ImageDataset& test = trained.test;
  AskedImages asked{.images = formats::read_pictures(options.pictures, trained.size(), options.fit),
                    .names = options.pictures,
                    .entry = std::vector<std::optional<int64_t>>(options.pictures.size())};
  asked.images.classes = test.classes;
  asked.images.class_names = trained.class_names;
  if (options.entries.empty()) return asked;
  for (const int64_t entry : entries_of(options.entries, test.count())) {
    const auto first = test.pixels.begin() + entry * test.image_bytes();
    asked.images.pixels.insert(asked.images.pixels.end(), first, first + test.image_bytes());
    asked.images.labels.push_back(test.labels[static_cast<size_t>(entry)]);
    asked.names.push_back(cat(test.name, " ", entry));
    asked.entry.emplace_back(entry);
  }
  return asked;
}

Json about(const PredictOptions& options, const TrainedModel& trained) {
  const data::ImageDataset& set = trained.test;
  std::printf("%s of %s, trained on %s\n", options.model.c_str(), trained.file.c_str(),
              options.data.c_str());
  Json mean = Json::array(), stddev = Json::array();
  std::string line = cat("  images ", set.height, " x ", set.width, " x ", set.channels,
                         "; of a byte p the net sees");
  for (size_t c = 0; c < static_cast<size_t>(set.channels); ++c) {
    const auto& [m, s] = std::pair(trained.normalization.mean[c], trained.normalization.stddev[c]);
    line += cat(c == 0 ? " (p / 255 - " : ", (p / 255 - ", m, ") / ", s);
    mean.push_back(shortest(m));
    stddev.push_back(shortest(s));
  }
  std::printf("%s\n", line.c_str());
  return {{"model", options.model},
          {"weights", trained.file},
          {"data", options.data},
          {"image", {set.height, set.width, set.channels}},
          {"classes", set.classes},
          {"class_names", trained.class_names},
          {"normalization", {{"mean", mean}, {"stddev", stddev}}},
          {"precision", options.precision_name}};
}

Json predictions(const AskedImages& asked, const train::Classified& classified, int64_t most) {
  Json rows = Json::array();
  const std::vector<std::string>& names = asked.images.class_names;
  for (size_t i = 0; i < asked.names.size(); ++i) {
    Json row, best = Json::array();
    std::string line = asked.names[i] + ":";
    for (const auto& [label, probability] :
         train::top(classified.of(static_cast<int64_t>(i)), most)) {
      char text[64];
      std::snprintf(text, sizeof text, " (%.4f)", static_cast<double>(probability));
      line += cat("  ", train::class_name(names, label), text);
      best.push_back({{"class", label},
                      {"name", train::class_name(names, label)},
                      {"probability", shortest(probability)}});
    }
    row["image"] = asked.names[i];
    if (asked.entry[i]) {
      const int64_t label = asked.images.labels[i];
      line += cat("  it is ", train::class_name(names, label));
      row["entry"] = *asked.entry[i];
      row["label"] = label;
    }
    row["top"] = best;
    std::printf("%s\n", line.c_str());
    rows.push_back(std::move(row));
  }
  return rows;
}

Json evaluation(const data::ImageDataset& images, const train::Classified& classified) {
  const train::Score& score = classified.score;
  std::printf("%s\n", cat(images.name, ", ", images.count(), " images: loss ", score.loss.value(),
                          ", accuracy ", score.accuracy())
                          .c_str());
  return {{"split", images.name},
          {"images", images.count()},
          {"loss", score.loss.value()},
          {"accuracy", score.accuracy()}};
}

Json confusion_matrix(const train::Confusion& confusion) {
  std::printf("%s", confusion.text().c_str());
  Json rows = Json::array();
  for (int64_t label = 0; label < confusion.classes(); ++label) {
    Json row = Json::array();
    for (int64_t guess = 0; guess < confusion.classes(); ++guess)
      row.push_back(confusion.at(label, guess));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json worst(const TrainedModel& trained, std::span<const train::Mistake> mistakes) {
  Json rows = Json::array();
  for (const auto& [image, label, guess, probability] : mistakes) {
    std::printf("%s %lld: it is %s (%.3g), and taken for %s (%.4f)\n", trained.test.name.c_str(),
                static_cast<long long>(image),
                train::class_name(trained.class_names, label).c_str(),
                static_cast<double>(probability),
                train::class_name(trained.class_names, guess.label).c_str(),
                static_cast<double>(guess.probability));
    rows.push_back({{"entry", image},
                    {"label", label},
                    {"label_probability", shortest(probability)},
                    {"guess", guess.label},
                    {"guess_probability", shortest(guess.probability)}});
  }
  return rows;
}

std::string page_of(const TrainedModel& trained, const train::Classified& classified,
                    std::span<const train::Mistake> mistakes) {
  const data::ImageDataset& images = trained.test;
  const train::Confusion confusion(classified, images.labels, trained.class_names);
  std::vector<train::PicturedMistake> pictured;
  for (const train::Mistake& mistake : mistakes) {
    const auto first = images.pixels.begin() + mistake.image * images.image_bytes();
    const data::Picture picture{
        images.height, images.width, images.channels, {first, first + images.image_bytes()}};
    pictured.push_back({mistake, formats::png_of(picture)});
  }
  return train::mistakes_page(trained.file, images.name, confusion, classified.score, pictured);
}

}  // namespace plimsoll::examples
