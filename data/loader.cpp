#include "data/loader.h"

#include <algorithm>
#include <numeric>

#include "data/pipeline.h"
#include "data/random.h"

namespace plimsoll::data {
namespace {

constexpr int64_t kMostAhead = 1024;

}  // namespace

std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed, epoch);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.index(i + 1)]);
  return order;
}

Loader::Loader(const ImageDataset& dataset, LoaderAttrs attrs) : dataset_(dataset), attrs_(attrs) {
  check_dataset(dataset);
  check<ValueError>(attrs.batch >= 1, "loader: a batch needs at least one image: ", attrs.batch,
                    ". Pass 1 or more.");
  check<ValueError>(attrs.prefetch >= 0 && attrs.prefetch <= kMostAhead,
                    "loader: prefetch counts batches: ", attrs.prefetch, ". Pass 0 to ", kMostAhead,
                    ".");
  check<ValueError>(attrs.workers >= 0 && attrs.workers <= kMostAhead,
                    "loader: workers counts threads: ", attrs.workers, ". Pass 0 to ", kMostAhead,
                    ".");
  check_augment(attrs.augment);
  check<DataError>(attrs.batch <= dataset.count(),
                   "loader: the batch is larger than the data: ", attrs.batch, " images wanted, ",
                   dataset.name, " has ", dataset.count(), ". Use a smaller batch.");
  for (int64_t channel = 0; channel < dataset.channels; ++channel)
    for (int byte = 0; byte < 256; ++byte)
      normalized_.push_back((static_cast<float>(byte) / 255 - normalization().mean[channel]) /
                            normalization().stddev[channel]);
}

// Memory of the host, which any thread may fill.
struct Loader::HostBatch {
  std::vector<float> x;
  std::vector<int64_t> y;
};

struct Loader::Epoch {
  Stream<HostBatch> batches;
};

Loader::~Loader() = default;

const Normalization& Loader::normalization() const {
  return attrs_.normalization ? *attrs_.normalization : dataset_.normalization;
}

int64_t Loader::batches() const {
  const int64_t n = dataset_.count();
  return attrs_.drop_last ? n / attrs_.batch : (n + attrs_.batch - 1) / attrs_.batch;
}

int64_t Loader::host_bytes() const {
  const int64_t image = dataset_.image_bytes() * int64_t{sizeof(float)} + int64_t{sizeof(int64_t)};
  return (attrs_.workers * attrs_.prefetch + 1) * std::min(attrs_.batch, dataset_.count()) * image;
}

Loader::HostBatch Loader::gather(const std::vector<int64_t>& order, uint64_t epoch,
                                 int64_t index) const {
  const int64_t begin = index * attrs_.batch, image_bytes = dataset_.image_bytes();
  const int64_t count = std::min(attrs_.batch, dataset_.count() - begin);
  HostBatch batch{.x = std::vector<float>(static_cast<size_t>(count * image_bytes)),
                  .y = std::vector<int64_t>(static_cast<size_t>(count))};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t image = order[begin + i];
    const Augmentation augmentation =
        draw_augmentation(attrs_.augment, dataset_.height, dataset_.width, attrs_.seed, epoch,
                          static_cast<uint64_t>(image));
    augment_image(dataset_, image, normalized_.data(), augmentation,
                  batch.x.data() + i * image_bytes);
    batch.y[i] = dataset_.labels[image];
  }
  return batch;
}

void Loader::share(int64_t window, int64_t first, int64_t count) {
  check<ValueError>(first >= 0 && count >= 1 && first + count <= window,
                    "loader: these are no batches of a window of ", window, ": ", count, " from ",
                    first, ". Share out those that there are.");
  share_ = {window, first, count};
}

void Loader::start(uint64_t epoch, int64_t first) {
  check<ValueError>(first >= 0 && first <= batches(), "loader: there is no such batch: ", first,
                    " of ", batches(), ". Count from 0.");
  std::vector<int64_t> order;
  if (attrs_.shuffle) {
    order = permutation(dataset_.count(), attrs_.seed, epoch);
  } else {
    order.resize(static_cast<size_t>(dataset_.count()));
    std::iota(order.begin(), order.end(), 0);
  }
  const Stream<int64_t> shared = [all = numbers(first, batches()), share = share_] {
    std::optional<int64_t> number = all();
    while (number && (*number % share.window < share.first ||
                      *number % share.window >= share.first + share.count))
      number = all();
    return number;
  };
  epoch_ = nullptr;  // its threads end before others begin
  epoch_ = std::make_unique<Epoch>(Epoch{
      mapped(shared,
             [this, epoch, order = std::move(order)](int64_t i) { return gather(order, epoch, i); },
             {.workers = attrs_.workers, .ahead = attrs_.workers * attrs_.prefetch})});
}

std::optional<Batch> Loader::next() {
  check<StateError>(epoch_ != nullptr, "loader: no epoch was begun. Call start(epoch) first.");
  const std::optional<HostBatch> host = epoch_->batches();
  if (!host) return std::nullopt;
  const MemoryScope scope(MemoryClass::input);
  const auto n = static_cast<int64_t>(host->y.size());
  return Batch{Tensor::of<float>(host->x, {n, dataset_.height, dataset_.width, dataset_.channels},
                                 attrs_.device),
               Tensor::of<int64_t>(host->y, {n}, attrs_.device)};
}

}  // namespace plimsoll::data
