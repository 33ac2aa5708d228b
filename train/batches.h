// Batches: the batches of a data set by number, so that a training can go on anywhere.
//
//   train::Batches training = train::batches(loader);          // of data/loader.h
//   train::Batches windows{.at = [&](int64_t number) { return data::random_windows(...); }};
//   data::Batch batch = training.at(120);
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/meta.h"
#include "data/batch.h"
#include "data/dataset.h"

namespace plimsoll::data {
class Loader;
}

namespace plimsoll::train {

// What tells data and the order of batches from others: names and values. A run goes on with the
// same, and a sentence says which is another. Where files lie and what they are called is no part.
using Identity = std::vector<std::pair<std::string, std::string>>;

// The value for bytes, all of them, of which only the name can be said in such a sentence.
// `before`: of bytes in front of these.
std::string fingerprint(std::span<const std::byte> bytes, const std::string& before = "");
bool is_fingerprint(const std::string& value);

// Names in the identity of images: text_of() a data::Normalization, and names of classes with a "/"
// between two, which no name of a folder has.
constexpr const char *kNormalization = "normalization", *kClassNames = "class names";

// "mean 0.1307, stddev 0.3081", to the last bit, and back; DataError for anything else.
std::string text_of(const data::Normalization& normalization, int64_t channels);
data::Normalization parse_normalization(const std::string& text);

struct Batches {
  // Batch `number`, from 0; those of an epoch follow those of the one before. Asked for in turn,
  // but a training that goes on begins anywhere, and without `kinds` the first and the last are
  // asked for before all others.
  std::function<data::Batch(int64_t number)> at;
  // For ranks: from here on only batches first ... first + count - 1 of every `window` of an epoch
  // are asked for. Empty: nothing is prepared that would not be.
  std::function<void(int64_t window, int64_t first, int64_t count)> share = {};
  int64_t count = 0;  // of an epoch, or of an evaluation; 0: there is no end and no epoch
  std::vector<Metas> kinds = {};  // {x, y} of every size of batch. Empty: of the first and the last
  std::string name = "";          // "mnist train, 60000 images", for people
  Identity identity = {};
  std::string split = "test";     // what an evaluation of them is called
  std::string item = "examples";  // what a batch has `items` of; 0: as many as labels
  int64_t items = 0;
  int64_t data_bytes = 0;  // of the data set, outside of any plan
  int64_t host_bytes = 0;  // of batches that are being prepared
};

// Those of a loader. Their identity is of all pixels, labels and names of classes, normalization,
// order and augmentation. By reference: it must outlive them.
Batches batches(std::shared_ptr<data::Loader> loader);
Batches batches(data::Loader& loader);

// The sizes of the batches of a loader: {x, y}.
std::vector<Metas> kinds_of(const data::Loader& loader);

// The same, with what is left empty filled in. ValueError where there is no `at`.
Batches completed(Batches batches);

}  // namespace plimsoll::train
