// The net of predict: from a run of train_cnn, which knows what it is and what it was trained on,
// or from an exported file, of which the command line says so.
//
//   PredictOptions options;
//   add_predict_options(app, options);
//   const TrainedModel trained = trained_model(app, options);
#pragma once

#include "data/dataset.h"
#include "data/images/picture.h"
#include "examples/common/options.h"
#include "examples/models/cnn_models.h"

namespace plimsoll::examples {

struct PredictOptions : Options {
  std::vector<std::string> pictures;  // files
  std::string entries;                // of the test split: "17,30-35"
  bool best = false;
  int64_t top = 3;
  data::FitAttrs fit;
  bool evaluate = false, confusion = false;
  int64_t worst = 0;  // mistakes to show

  bool whole_split() const { return evaluate || confusion || worst > 0 || !report.empty(); }
};

void add_predict_options(CommandLine& app, PredictOptions& options);

struct TrainedModel {
  std::string file;                      // of the weights
  data::ImageDataset test;               // the test split of what it was trained on
  data::Normalization normalization;     // that it was trained with
  std::vector<std::string> class_names;  // empty: they have numbers alone
  std::unique_ptr<Staged> model;

  data::PictureSize size() const { return {test.height, test.width, test.channels}; }
};

// Sets model, data, batch and precision of `options` to those of the run, unless the command line
// says other data, batches or precision. UsageError: a run that is not there, of another model, of
// a text model or of synthetic images; options that do not go together. DataError: what cannot be
// read. What is taken instead of newer files that are damaged is printed.
TrainedModel trained_model(const CommandLine& app, PredictOptions& options);

}  // namespace plimsoll::examples
