// Trains a convolution net on images.
//
//   train_cnn                                             images the program draws itself
//   train_cnn --model lenet --data mnist:data/mnist --epochs 5
//   train_cnn --model resnet8 --data cifar10:data/cifar10 --augment crop,flip
//   train_cnn --model resnet8 --data folder:pictures --image-size 32      a folder for each class
//   train_cnn --model resnet50 --data synthetic --batch 256 --precision f16 --device cuda
#include "data/images/augment.h"
#include "data/source.h"
#include "examples/common/image_data.h"
#include "examples/common/rank_options.h"
#include "examples/common/recipe.h"
#include "examples/common/report.h"
#include "examples/common/run_options.h"
#include "examples/common/synthetic.h"
#include "examples/models/weights.h"
#include "train/trainer.h"

namespace plimsoll::examples {
namespace {

void train_on_images(Options& options) {
  const ReportFile report(options.json);
  const Device device = open_device(options.device);
  train::prepare(*default_pool(device), options);
  const ImageData data = image_data(options, device);
  const Weights weights(options, cnn_torch_layout(options.model, data.size));

  const auto make = [&](nn::Initializer& init) {
    return make_cnn(options.model, data.size, options.checkpoint, init);
  };
  options.schedule = schedule_of(options, train::updates_of(options, data.training));
  options.same = {
      {"model", options.model}, {"optimizer", options.optimizer}, {"prune", cat(options.prune)}};
  options.noted = noted_of(options);
  refuse_impossible_budget(options, make, data.training, data.test);
  nn::Initializer init{.seed = options.seed, .placement = {.device = device}};
  const auto model = make(init);
  weights.read(*model);
  const Recipe recipe(*model, options);
  train::Trainer trainer(*model, recipe.optimizer(), data.training, data.test, options);
  const train::Result result = trainer.run();
  if (options.plan_only) return report.write(planned_figures(options, result));
  if (trainer.pruner()) {
    trainer.pruner()->strip();
    std::printf("%s", trainer.pruner()->sparsity().text().c_str());
  }
  if (!result.over && !options.evaluate_only) return;
  report.write(figures(options, "epoch", data.training.count, result));
  weights.write(*model);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  options.batch = 128;
  options.learning_rate = 2e-3;
  options.lowest_divisor = 100;
  options.epochs = 5;
  CommandLine app{"Trains a convolution net on images and says what memory it takes."};
  add_options(app, options, cnn_names());
  add_recipe_options(app, options);
  add_memory_options(app, options);
  add_run_options(app, options);
  add_rank_options(app, options);
  add_weight_options(app, options);
  app.group("Data and model");
  app.add_option("--data", options.data,
                 plimsoll::cat(plimsoll::data::kImageSources, " | ", kSynthetic))
      ->capture_default_str();
  app.add_option("--image-size", options.image_size,
                 "Height and width: of synthetic images; 0: the model's own. Or what the pictures "
                 "of a folder are stretched to; 0: they are all of one size")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
  app.add_flag("--grey", options.grey, "Make the pictures of a folder grey");
  app.add_option("--epochs", options.epochs, "Times through the training images")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--prune", options.prune, "Share of the weights to prune, as in 0.8")
      ->check(probability());
  app.add_option("--augment", options.augment, plimsoll::data::kAugmentations)
      ->capture_default_str();
  app.add_option("--workers", options.workers, "Threads that prepare batches; 0: none")
      ->check(whole_number(0, 64))
      ->capture_default_str();
  return run_example(app, argc, argv, options, [&] { train_on_images(options); });
}
