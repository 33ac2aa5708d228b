// A model as a run has saved it, without the optimizer and the rest of the training.
//
//   nn::Sequential model = ...;                                    // as it was built for the run
//   const SavedModel saved = read_saved_model("runs/a", model);
//   train::Classifier classifier(model, saved.normalization(), pictures);
//
// Reading takes no lock: a file has its name only when it is whole, so a run can be read while
// another process trains in its folder.
#pragma once

#include "data/dataset.h"
#include "nn/module.h"
#include "train/saves.h"

namespace plimsoll::train {

struct SavedModel {
  std::filesystem::path file;    // that was read
  int64_t batches;               // of the training until then
  std::vector<Damaged> damaged;  // newer files that could not be read
  formats::Metadata metadata;    // what the run was begun with: train/batches.h, TrainOptions::same

  // What images were turned into numbers with. DataError for a run on no images of a loader.
  data::Normalization normalization() const;
  // "ring", ...; empty where its classes have no names.
  std::vector<std::string> class_names() const;
};

// Overwrites parameters and buffers by those of the newest save of the run in folder `run` that is
// whole; `best`: of those that were the best when they were written. `same`: what the run must have
// been begun with, as in TrainOptions::same. Errors, before anything is changed: UsageError for
// another value in `same`; DataError where nothing is saved, all of it is damaged, or a tensor is
// missing or of another shape or type.
SavedModel read_saved_model(const std::filesystem::path& run, const nn::Module& model,
                            const formats::Metadata& same = {}, bool best = false);

}  // namespace plimsoll::train
