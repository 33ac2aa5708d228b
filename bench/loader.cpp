// How long a training step waits for its batch: lenet and resnet8 on images of CIFAR-10's size,
// augmented by crop, flip and cutout, with 0, 1 and 4 workers.
//
//   bench/loader                    // per step: the wait in Loader::next(), and the rest
//
// With 0 workers the step makes its batch itself, so its wait is the time that takes; with workers
// it is what is left: taking a finished batch and copying it into tensors of the pool. The first
// ten steps of each row, the warm-up, are left out.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "autograd/gradients.h"
#include "bench/median.h"
#include "data/loader.h"
#include "examples/models/cnn_models.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"

using namespace plimsoll;

namespace {

constexpr int64_t kBatch = 128, kWarmUp = 10, kSteps = 50;

// Noise: what is in the images changes no time.
data::ImageDataset noise(int64_t count) {
  data::ImageDataset dataset{.name = "noise",
                             .height = 32,
                             .width = 32,
                             .channels = 3,
                             .classes = 10,
                             .normalization = {{0.5f, 0.5f, 0.5f}, {0.25f, 0.25f, 0.25f}},
                             .pixels = {},
                             .labels = {}};
  for (int64_t i = 0; i < count * dataset.image_bytes() / 16; ++i)
    for (const uint32_t word : random_words(/*key=*/1, /*stream=*/0, static_cast<uint64_t>(i)))
      for (int shift = 0; shift < 32; shift += 8)
        dataset.pixels.push_back(static_cast<uint8_t>(word >> shift));
  for (int64_t i = 0; i < count; ++i) dataset.labels.push_back(i % 10);
  return dataset;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void measure(const char* name, const data::ImageDataset& images, int64_t workers) {
  nn::Initializer init{.seed = 1};
  const auto model = examples::make_cnn(name, {32, 32, 3, 10}, /*checkpoint=*/false, init);
  optim::Adam optimizer(model->parameters());
  Step step([&](const Tensor& x, const Tensor& y) {
    Tensor loss = cross_entropy((*model)(x, nn::training()), y);
    optimizer.update(gradients(loss, model->parameters()));
    return loss;
  });
  data::Loader loader(images, {.batch = kBatch,
                               .shuffle = true,
                               .drop_last = true,
                               .augment = {.crop = 4, .flip = true, .cutout = 16},
                               .workers = workers});
  loader.start(0);
  std::vector<double> waits, steps;
  for (int64_t i = 0; i < kWarmUp + kSteps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto batch = loader.next();
    const double wait = since(start);
    step(batch->x, batch->y).item();
    if (i < kWarmUp) continue;
    waits.push_back(wait);
    steps.push_back(since(start) - wait);
  }
  std::printf("%-8s %7lld | %12.3f %9.3f | %9.2f | %6.2f %%\n", name,
              static_cast<long long>(workers), median(waits), std::ranges::max(waits),
              median(steps), 100 * median(waits) / (median(waits) + median(steps)));
  std::fflush(stdout);
}

}  // namespace

int main() {
  const data::ImageDataset images = noise(kBatch * (kWarmUp + kSteps));
  std::printf("ms; batches of %lld, %lld steps after %lld of warm-up\n",
              static_cast<long long>(kBatch), static_cast<long long>(kSteps),
              static_cast<long long>(kWarmUp));
  std::printf("net      workers | wait: median       max | rest: med |  share\n");
  for (const char* net : {"lenet", "resnet8"})
    for (const int64_t workers : {0, 1, 4}) measure(net, images, workers);
}
