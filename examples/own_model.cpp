// A net of one's own, for pictures of one's own: own_model folder:DIR, a folder in DIR for each
// class; else for figures that it draws. Within 10 MiB; it goes on where it was stopped.
#include "formats/image_folder.h"
#include "plimsoll.h"
#include "train/trainer.h"
using namespace plimsoll;

int main(int argc, char** argv) try {
  train::TrainOptions options{.name = "figures", .epochs = 3, .precision = Precision::bf16};
  options.accumulate = 2;
  options.clip_norm = 1;
  options.budget = int64_t{10} << 20;
  options.run = "runs/figures";
  options.resume = true;
  train::prepare(*default_pool(Device::cpu), options);  // before the first tensor

  const auto images = formats::load_images(argc > 1 ? argv[1] : "builtin");
  const data::ImageDataset& set = images.train;
  data::Loader training(set, {.batch = 128, .shuffle = true, .drop_last = true});
  data::Loader test(images.test, {.batch = std::min<int64_t>(128, images.test.count())});

  nn::Initializer init{.seed = 1};
  nn::Sequential model;
  const nn::Conv2dOptions same{.padding = 1};  // the image keeps its size; a pool halves it
  model.then<nn::Conv2d>(set.channels, 16, 3, init, same).then<nn::ReLU>().then<nn::MaxPool2d>();
  model.then<nn::Conv2d>(16, 32, 3, init, same).then<nn::ReLU>().then<nn::MaxPool2d>();
  const int64_t flat = 32 * (set.height / 4) * (set.width / 4);
  model.then<nn::Flatten>().then<nn::Linear>(flat, set.classes, init);
  optim::AdamW optimizer(model.parameters());
  const int64_t updates = train::updates_of(options, train::batches(training));
  options.schedule = optim::warmup_cosine(2e-3, 2e-5, updates / 10, updates);
  train::Trainer trainer(model, optimizer, train::batches(training), train::batches(test), options);
  const train::Result result = trainer.run();
  std::printf("accuracy %.4f; %s planned, %s at the peak\n", result.last.at("accuracy"),
              bytes_text(result.planned.training).c_str(), bytes_text(result.peak_bytes).c_str());
} catch (const train::Interrupted& e) {  // Ctrl-C: all is saved
  return std::fprintf(stderr, "%s\n", e.what()), train::kInterrupted;
} catch (const Error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
