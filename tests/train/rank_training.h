// A small training by ranks that are threads, with all that several ranks could get wrong: batch
// norm, dropout, clipping, metrics, a window that is shorter.
//
//   const Left one = train(1, options_for(Precision::f32, true), folder)[0];
//   for (const Left& each : train(4, options, other)) EXPECT_EQ(each, one);
#pragma once

#include "data/file.h"
#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "tests/data/testing.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/saved_text.h"
#include "train/trainer.h"

namespace plimsoll::train {

inline const data::ImageDataset& images(data::Split split) {
  static const data::ImageDataset training = data::draw_images(data::Split::train, {.count = 330}),
                                  test = data::draw_images(data::Split::test, {.count = 70});
  return split == data::Split::train ? training : test;
}

// A net with batch norm and dropout, and its data: 20 batches of 16 an epoch, so that a window of 8
// is followed by a shorter one; 5 to evaluate on, the last of 6 images.
struct Digits {
  nn::Initializer init;
  nn::Sequential model;
  std::optional<optim::Optimizer> optimizer;
  data::Loader training, test;

  explicit Digits(int64_t workers = 0, Device device = Device::cpu)
      : init{.seed = 3, .placement = {.device = device}},
        training{images(data::Split::train),
                 {.batch = 16,
                  .shuffle = true,
                  .seed = 5,
                  .drop_last = true,
                  .workers = workers,
                  .device = device}},
        test{images(data::Split::test), {.batch = 16, .device = device}} {
    model.then<nn::Conv2d>(1, 4, 5, init).then<nn::BatchNorm2d>(4, init).then<nn::ReLU>();
    model.then<nn::MaxPool2d>().then<nn::Flatten>().then<nn::Dropout>(0.3, init);
    model.then<nn::Linear>(576, 10, init);
    optimizer.emplace(optim::AdamW(model.parameters(), {.learning_rate = 2e-3}));
  }
  Result train(const TrainOptions& options) {
    return Trainer(model, *optimizer, batches(training), batches(test), options).run();
  }
  std::string bits() const {
    std::string all;
    for (const auto& tensors : {model.named_parameters(), model.named_buffers()})
      for (const auto& [name, tensor] : tensors)
        for (const float value : tensor.to_vector<float>()) all += cat(value, " ");
    return all;
  }
};

inline TrainOptions options_for(Precision precision, bool captured) {
  TrainOptions options{.epochs = 2, .precision = precision, .accumulate = 8, .clip_norm = 0.5};
  options.schedule = optim::cosine(2e-3, 2e-4, 6);
  options.objective.metrics.push_back(
      {"logit", [](const Tensor& logits, const Tensor&) { return mean(logits); }});
  options.captured = captured;
  options.log_every = 3;
  return options;
}

struct Left {
  std::string bits, log, saves;
  Result result;
  bool operator==(const Left& other) const { return bits == other.bits && log == other.log; }
};

// Trained by n ranks; what each of them holds, and log and saves of the first. `change`: what is
// another in the net.
inline std::vector<Left> train(int64_t n, TrainOptions options, const std::string& run,
                               int64_t workers = 0,
                               const std::function<void(Digits&)>& change = {}) {
  std::vector<Left> left(static_cast<size_t>(n));
  options.ranks = n;
  options.run = run;
  run_ranks(n, [&](Ranks& ranks) {
    Digits s(workers);
    if (change) change(s);
    Left& own = left[static_cast<size_t>(ranks.rank())];
    own.result = s.train(options);
    own.bits = s.bits();
  });
  const std::string log = data::read_text(run + "/log.csv");
  const std::string saves = saved_text(run + "/saves");
  for (Left& each : left) {
    each.log = log;
    each.saves = saves;
  }
  return left;
}

}  // namespace plimsoll::train
