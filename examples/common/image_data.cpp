#include "examples/common/image_data.h"

#include "data/loader.h"
#include "examples/common/synthetic.h"
#include "formats/image_folder.h"

namespace plimsoll::examples {
namespace {

constexpr int64_t kSyntheticEpoch = 100;  // batches

// Images and what refers to them: what holds one of them holds all.
struct Loaded {
  data::ImageSource images;
  data::Loader training, test;

  Loaded(data::ImageSource source, const Options& options, Device device)
      : images(std::move(source)),
        training(images.train, {.batch = options.batch,
                                .shuffle = true,
                                .seed = options.seed,
                                .drop_last = true,
                                .augment = data::parse_augment(options.augment),
                                .workers = options.workers,
                                .device = device}),
        test(images.test, {.batch = std::min(options.batch, images.test.count()),
                           .workers = std::min<int64_t>(options.workers, 1),
                           .device = device}) {}
};

ImageData synthetic_data(const Options& options, Device device) {
  check<UsageError>(options.augment == "none",
                    "--augment: synthetic images are not augmented: ", options.augment,
                    ". Leave it out.");
  check<UsageError>(!options.grey,
                    "--grey: only pictures of a folder can be made grey: ", options.data,
                    ". Leave it out.");
  ImageSize size = own_images(options.model);
  if (options.image_size > 0) size.height = size.width = options.image_size;
  train::Batches test = synthetic_batches(
      synthetic_images(size, options.batch, options.seed, device), "images", options.batch);
  train::Batches training = test;
  training.count = kSyntheticEpoch;
  return {size, training, test};
}

}  // namespace

formats::FolderAttrs folder_attrs(const Options& options) {
  const bool folder = options.data.starts_with("folder:");
  check<UsageError>(folder || options.image_size == 0, "--image-size: only synthetic images and ",
                    "pictures of a folder have any size: ", options.image_size, " with --data ",
                    options.data, ". Leave it out.");
  check<UsageError>(folder || !options.grey,
                    "--grey: only pictures of a folder can be made grey: ", options.data,
                    ". Leave it out.");
  return {.side = options.image_size, .grey = options.grey};
}

ImageData image_data(const Options& options, Device device) {
  if (options.data == kSynthetic) return synthetic_data(options, device);
  const auto all = std::make_shared<Loaded>(
      naming_data(options,
                  [&] { return formats::load_images(options.data, folder_attrs(options)); }),
      options, device);
  const data::ImageDataset &set = all->images.train, &test = all->images.test;
  check<DataError>(
      test.height == set.height && test.width == set.width && test.channels == set.channels,
      "--data ", options.data, ": the test images have another size: ", test.height, " x ",
      test.width, " x ", test.channels, ", and those to train on ", set.height, " x ", set.width,
      " x ", set.channels, ". Use images of one size.");
  return {{set.height, set.width, set.channels, set.classes},
          train::batches(std::shared_ptr<data::Loader>(all, &all->training)),
          train::batches(std::shared_ptr<data::Loader>(all, &all->test))};
}

}  // namespace plimsoll::examples
