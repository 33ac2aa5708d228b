#include "data/loader.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "core/cuda_queue.h"
#include "data/pinned_memory.h"
#include "data/pipeline.h"
#include "data/random.h"

namespace plimsoll::data {
namespace {

constexpr int64_t kMostAhead = 1024;
constexpr int64_t kMostSent = 2;  // batches on their way to a GPU

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
    for (int byte = 0; byte < 256; ++byte) {
      normalized_.push_back((static_cast<float>(byte) / 255 - dataset.normalization.mean[channel]) /
                            dataset.normalization.stddev[channel]);
      bytes_.push_back(static_cast<uint8_t>(byte));
    }
  if (attrs.device != Device::cuda) return;
  pinned_ = std::make_unique<PinnedMemory>();
  sent_ = std::make_unique<Sent>();
}

// Memory of the host, which any thread may fill. (A vector made by a move keeps its memory.)
struct Loader::HostBatch {
  std::pmr::vector<float> x;
  std::pmr::vector<uint8_t> bytes;   // for a GPU, instead of x
  std::pmr::vector<int32_t> blanks;  // for a GPU, [N, 4]: what is cut out
  std::pmr::vector<int64_t> y;
};

struct Loader::Sent {
  struct OnItsWay {
    HostBatch batch;
    CudaMark copied;
  };
  std::deque<OnItsWay> batches;

  ~Sent() {
    try {
      leave(0);
    } catch (const DeviceError&) {  // a device that has failed copies no more
    }
  }
  void leave(size_t most) {
    for (; batches.size() > most; batches.pop_front()) cuda_queue().wait(batches.front().copied);
  }
};

struct Loader::Epoch {
  Stream<HostBatch> batches;
};

Loader::~Loader() = default;

int64_t Loader::batches() const {
  const int64_t n = dataset_.count();
  return attrs_.drop_last ? n / attrs_.batch : (n + attrs_.batch - 1) / attrs_.batch;
}

int64_t Loader::host_bytes() const {
  const bool there = attrs_.device == Device::cuda;
  const int64_t x = there ? dataset_.image_bytes() + 4 * int64_t{sizeof(int32_t)}
                          : dataset_.image_bytes() * int64_t{sizeof(float)};
  const int64_t image = x + int64_t{sizeof(int64_t)}, sent = there ? kMostSent : 0;
  return (attrs_.workers * attrs_.prefetch + 1 + sent) * std::min(attrs_.batch, dataset_.count()) *
         image;
}

Loader::HostBatch Loader::gather(const std::vector<int64_t>& order, uint64_t epoch,
                                 int64_t index) const {
  const int64_t begin = index * attrs_.batch;
  const int64_t end = std::min(begin + attrs_.batch, dataset_.count());
  std::pmr::memory_resource* const memory =
      pinned_ ? pinned_.get() : std::pmr::new_delete_resource();
  HostBatch batch{std::pmr::vector<float>(memory), std::pmr::vector<uint8_t>(memory),
                  std::pmr::vector<int32_t>(memory), std::pmr::vector<int64_t>(memory)};
  const auto images = static_cast<size_t>(end - begin);
  if (pinned_) {
    batch.bytes.resize(images * static_cast<size_t>(dataset_.image_bytes()));
    batch.blanks.reserve(4 * images);
  } else {
    batch.x.resize(images * static_cast<size_t>(dataset_.image_bytes()));
  }
  batch.y.reserve(images);
  for (int64_t i = begin, at = 0; i < end; ++i, at += dataset_.image_bytes()) {
    const Augmentation augmentation =
        draw_augmentation(attrs_.augment, dataset_.height, dataset_.width, attrs_.seed, epoch,
                          static_cast<uint64_t>(order[i]));
    if (pinned_) {
      augment_image(dataset_, order[i], bytes_.data(), augmentation, batch.bytes.data() + at);
      for (const int64_t side : {augmentation.cut_top, augmentation.cut_bottom,
                                 augmentation.cut_left, augmentation.cut_right})
        batch.blanks.push_back(static_cast<int32_t>(side));
    } else {
      augment_image(dataset_, order[i], normalized_.data(), augmentation, batch.x.data() + at);
    }
    batch.y.push_back(dataset_.labels[order[i]]);
  }
  return batch;
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
  epoch_ = nullptr;  // its threads end before others begin
  epoch_ = std::make_unique<Epoch>(Epoch{
      mapped(numbers(first, batches()),
             [this, epoch, order = std::move(order)](int64_t i) { return gather(order, epoch, i); },
             {.workers = attrs_.workers, .ahead = attrs_.workers * attrs_.prefetch})});
}

std::optional<Batch> Loader::next() {
  check<StateError>(epoch_ != nullptr, "loader: no epoch was begun. Call start(epoch) first.");
  std::optional<HostBatch> host = epoch_->batches();
  if (!host) return std::nullopt;
  const MemoryScope scope(MemoryClass::input);
  const auto n = static_cast<int64_t>(host->y.size());
  const Shape shape{n, dataset_.height, dataset_.width, dataset_.channels};  // [N, H, W, C]
  if (sent_) return send(std::move(*host), shape);
  return Batch{Tensor::of<float>(std::span(host->x), shape),
               Tensor::of<int64_t>(std::span(host->y), {n})};
}

// The GPU reads what the workers wrote; nobody waits for it, but for the last batch but two.
Batch Loader::send(HostBatch host, const Shape& images) {
  const Batch batch{Tensor::empty({images, DType::f32, attrs_.device}, "loader"),
                    Tensor::empty({{images[0]}, DType::i64, attrs_.device}, "loader")};
  cuda_queue().normalize({.bytes = host.bytes.data(),
                          .blanks = host.blanks.data(),
                          .count = images[0],
                          .height = dataset_.height,
                          .width = dataset_.width,
                          .channels = dataset_.channels,
                          .mean = dataset_.normalization.mean,
                          .stddev = dataset_.normalization.stddev},
                         static_cast<float*>(view_of(batch.x.value()).data));
  cuda_queue().copy_pinned(view_of(batch.y.value()).data, host.y.data(), bytes_of(batch.y.meta()));
  sent_->batches.push_back({std::move(host), cuda_queue().mark()});
  sent_->leave(kMostSent);
  return batch;
}

}  // namespace plimsoll::data
