// Batches: the batches of a data set by number, so that a training can go on anywhere.
//
//   train::Batches training = train::batches(loader);          // of data/loader.h
//   train::Batches windows{.at = [&](int64_t number) { return data::random_windows(...); }};
//   data::Batch batch = training.at(120);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/meta.h"
#include "data/batch.h"

namespace plimsoll::data {
class Loader;
}

namespace plimsoll::train {

struct Batches {
  // Batch `number`, from 0; those of an epoch follow those of the one before. Asked for in turn,
  // but for a training that goes on: it begins anywhere.
  std::function<data::Batch(int64_t number)> at;
  // For ranks: from here on only batches first ... first + count - 1 of every `window` of an epoch
  // are asked for. Empty: nothing is prepared that would not be.
  std::function<void(int64_t window, int64_t first, int64_t count)> share = {};
  int64_t count = 0;  // of an epoch, or of an evaluation; 0: there is no end and no epoch
  std::vector<Metas> kinds = {};  // {x, y} of every size of batch. Empty: of the first and the last
  std::string name = "";          // "mnist train, 60000 images", for people
  std::string identity = "";      // what tells it from other data: a run goes on with the same
  std::string split = "test";     // what an evaluation of them is called
  std::string item = "examples";  // what a batch has `items` of; 0: as many as labels
  int64_t items = 0;
  int64_t data_bytes = 0;  // of the data set, outside of any plan
  int64_t host_bytes = 0;  // of batches that are being prepared
};

// Those of a loader. By reference: it must outlive them.
Batches batches(std::shared_ptr<data::Loader> loader);
Batches batches(data::Loader& loader);

// The same, with what is left empty filled in. ValueError where there is no `at`.
Batches completed(Batches batches);

}  // namespace plimsoll::train
