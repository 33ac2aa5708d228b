// A small net and its data, for tests of the trainer.
#pragma once

#include <optional>

#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "nn/nn.h"
#include "optim/adam.h"
#include "train/trainer.h"

namespace plimsoll::train {

inline const data::ImageDataset& small_images(data::Split split) {
  static const data::ImageDataset training = data::draw_images(data::Split::train, {.count = 200}),
                                  test = data::draw_images(data::Split::test, {.count = 50});
  return split == data::Split::train ? training : test;
}

// A net with dropout, its optimizer and its data: 12 batches of 16 an epoch.
struct SmallTraining {
  nn::Initializer init{.seed = 3};
  nn::Sequential model;
  std::optional<optim::AdamW> optimizer;
  data::Loader training{small_images(data::Split::train),
                        {.batch = 16, .shuffle = true, .seed = 5, .drop_last = true}};
  data::Loader test{small_images(data::Split::test), {.batch = 16}};

  SmallTraining() {
    model.then<nn::Conv2d>(1, 4, 5, init).then<nn::ReLU>().then<nn::MaxPool2d>();
    model.then<nn::Flatten>().then<nn::Dropout>(0.3, init).then<nn::Linear>(576, 10, init);
    optimizer.emplace(model.parameters(), optim::AdamWOptions{.learning_rate = 2e-3});
  }
  Result train(const TrainOptions& options) {
    return Trainer(model, *optimizer, batches(training), batches(test), options).run();
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& p : model.parameters()) {
      const std::vector<float> some = p.to_vector<float>();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
};

}  // namespace plimsoll::train
