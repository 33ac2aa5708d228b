// Classifier: what a trained net says of images. One captured step, whose bytes are known before
// the first image is seen.
//
//   const train::SavedModel saved = train::read_saved_model("runs/a", model);
//   train::Classifier classifier(model, saved.normalization(), images.test, {.batch = 100});
//   classifier.planned_bytes();
//   const train::Classified result = classifier.run();
//   result.score.accuracy();
//   for (const auto& [label, probability] : train::top(result.of(17), 3)) ...
#pragma once

#include <span>

#include "autograd/autocast.h"
#include "data/loader.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/module.h"
#include "train/metrics.h"

namespace plimsoll::train {

struct ClassifyOptions {
  int64_t batch = 128;                      // images; no more than there are
  Precision precision = Precision::f32;     // of activations
  int64_t budget = StepOptions::kNoBudget;  // bytes, never exceeded, as that of a training
  Device device = Device::cpu;              // where the model lies
};

// What was said of each image of a data set.
struct Classified {
  int64_t classes = 0;
  std::vector<float> probabilities = {};  // [N, classes]
  std::vector<int64_t> guesses = {};      // [N]
  Score score = {};                       // against the labels
  int64_t peak_bytes = 0;                 // in the pool

  std::span<const float> of(int64_t image) const {
    return std::span(probabilities)
        .subspan(static_cast<size_t>(image * classes), static_cast<size_t>(classes));
  }
};

class Classifier {
 public:
  // `normalization` is the one that the net was trained with, whatever the images say: a run has it
  // (train/predict/saved_model.h). Model and images by reference: both outlive it. Plans, and takes
  // no memory. Under a budget call make_exact() (train/budget.h) before the first tensor; from here
  // on it is the pool's limit, less a batch in host memory before it is tensors. UsageError, naming
  // the smallest, for a budget that is too small; as Loader for images that do not fit together.
  Classifier(const nn::Module& model, const data::Normalization& normalization,
             const data::ImageDataset& images, const ClassifyOptions& options = {});

  // Of parameters, a batch, and all that is made of it: run() takes so many bytes of the pool, if
  // nothing else is in it.
  int64_t planned_bytes() const { return planned_; }
  // Of a batch before it is tensors, in memory of the host that no pool counts.
  int64_t host_bytes() const { return loader_.host_bytes(); }

  // All images, once, in their order. Loss and accuracy are those of an evaluation in a training
  // with the same batch and precision, to the last bit. IndexError for a label that is no class.
  Classified run();

 private:
  int64_t plan();

  const ClassifyOptions options_;
  PooledAllocator& pool_;
  data::Loader loader_;
  const StepFunction function_;
  std::vector<Metas> kinds_;  // of batches
  int64_t host_share_;        // of the budget
  Step step_;
  int64_t planned_;
};

// "cross", or "2" where classes have no names.
std::string class_name(const std::vector<std::string>& names, int64_t label);

struct Prediction {
  int64_t label;
  float probability;
};

// The k most likely classes, those first; of equal ones the lower label. All where there are fewer.
std::vector<Prediction> top(std::span<const float> probabilities, int64_t k);

}  // namespace plimsoll::train
