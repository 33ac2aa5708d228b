#include "examples/common/image_feed.h"

#include "core/base/hash.h"
#include "data/loader.h"
#include "data/source.h"
#include "examples/common/synthetic.h"

namespace plimsoll::examples {
namespace {

constexpr int64_t kSyntheticEpoch = 100;  // batches

int64_t bytes_of(const data::ImageSource& images) {
  int64_t bytes = 0;
  for (const data::ImageDataset* set : {&images.train, &images.test})
    bytes += std::ssize(set->pixels) + std::ssize(set->labels) * int64_t{sizeof(int64_t)};
  return bytes;
}

// Of the training images: the first of them, and all labels.
std::string hash_of(const data::ImageSource& images) {
  const std::vector<uint8_t>& pixels = images.train.pixels;
  const uint64_t hash =
      fnv1a(std::as_bytes(std::span(pixels).first(std::min(pixels.size(), size_t{1} << 22))));
  return cat(fnv1a(std::as_bytes(std::span(images.train.labels)), hash));
}

// Images and what refers to them: what holds one of them holds all.
struct Loaded {
  data::ImageSource images;
  data::Loader train, test;

  Loaded(data::ImageSource source, const Options& options, Device device)
      : images(std::move(source)),
        train(images.train, {.batch = options.batch,
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

ImageFeed synthetic_feed(const Options& options, Device device) {
  check<UsageError>(options.augment == "none",
                    "--augment: synthetic images are not augmented: ", options.augment,
                    ". Leave it out.");
  ImageSize size = own_images(options.model);
  if (options.image_size > 0) size.height = size.width = options.image_size;
  const data::Batch batch = synthetic_images(size, options.batch, options.seed, device);
  const auto left = std::make_shared<int64_t>(0);  // of the evaluation
  return {.size = size,
          .name = cat("one synthetic batch, ", batch.x.shape(), ", in every step"),
          .identity = cat("synthetic, ", batch.x.shape()),
          .batches = kSyntheticEpoch,
          .test_images = options.batch,
          .data_bytes = 0,
          .host_bytes = 0,
          .start = [](int64_t, int64_t) {},
          .next = [batch] { return batch; },
          .start_test = [left] { *left = 1; },
          .next_test = [=]() -> std::optional<data::Batch> {
            if ((*left)-- > 0) return batch;
            return std::nullopt;
          }};
}

}  // namespace

ImageFeed make_image_feed(const Options& options, Device device) {
  if (options.data == kSynthetic) return synthetic_feed(options, device);
  check<UsageError>(options.image_size == 0,
                    "--image-size: only synthetic images have any size: ", options.image_size,
                    " with --data ", options.data, ". Leave it out.");
  const auto all = std::make_shared<Loaded>(
      naming_data(options, [&] { return data::load_images(options.data); }), options, device);
  const data::ImageDataset& set = all->images.train;
  return {.size = {set.height, set.width, set.channels, set.classes},
          .name = cat(set.name, ", ", set.count(), " images"),
          .identity = cat(set.name, " of ", set.count(), ", ", hash_of(all->images)),
          .batches = all->train.batches(),
          .test_images = all->images.test.count(),
          .data_bytes = bytes_of(all->images),
          // The other loader takes its batches' memory when this one has given back its own.
          .host_bytes = all->train.host_bytes(),
          .start = [all](int64_t epoch,
                         int64_t first) { all->train.start(static_cast<uint64_t>(epoch), first); },
          .next = [all] { return *all->train.next(); },
          .start_test = [all] { all->test.start(0); },
          .next_test = [all] { return all->test.next(); }};
}

}  // namespace plimsoll::examples
