#include "data/loader.h"

#include <algorithm>
#include <numeric>

#include "data/packed_batch.h"
#include "data/pinned_memory.h"
#include "data/pipeline.h"
#include "data/random.h"

namespace plimsoll::data {
namespace {

constexpr int64_t kMostAhead = 1024;

// A packed batch of `count` images: their labels i64 [count], what is cut out of each i32
// [count, 4], and the images u8 [count, H, W, C].
struct Packed {
  int64_t count, image_bytes;

  int64_t blanks() const { return count * int64_t{sizeof(int64_t)}; }  // where they begin
  int64_t images() const { return blanks() + 4 * count * int64_t{sizeof(int32_t)}; }
  int64_t bytes() const { return images() + count * image_bytes; }
};

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
  sent_ = std::make_unique<InFlight>();
}

// Memory of the host, which any thread may fill. (A vector made by a move keeps its memory.)
struct Loader::HostBatch {
  std::vector<float> x;
  std::vector<int64_t> y;
  std::pmr::vector<std::byte> packed;  // for a GPU, instead of both
};

struct Loader::Epoch {
  Stream<HostBatch> batches;
};

Loader::~Loader() = default;

int64_t Loader::batches() const {
  const int64_t n = dataset_.count();
  return attrs_.drop_last ? n / attrs_.batch : (n + attrs_.batch - 1) / attrs_.batch;
}

int64_t Loader::packed_bytes() const {
  return Packed{std::min(attrs_.batch, dataset_.count()), dataset_.image_bytes()}.bytes();
}

int64_t Loader::host_bytes() const {
  const int64_t image = dataset_.image_bytes() * int64_t{sizeof(float)} + int64_t{sizeof(int64_t)};
  const bool there = attrs_.device == Device::cuda;
  return (attrs_.workers * attrs_.prefetch + 1 + (there ? InFlight::kMost : 0)) *
         (there ? packed_bytes() : std::min(attrs_.batch, dataset_.count()) * image);
}

Loader::HostBatch Loader::gather(const std::vector<int64_t>& order, uint64_t epoch,
                                 int64_t index) const {
  const int64_t begin = index * attrs_.batch, image_bytes = dataset_.image_bytes();
  const int64_t count = std::min(attrs_.batch, dataset_.count() - begin);
  std::pmr::memory_resource* const memory =
      pinned_ ? pinned_.get() : std::pmr::new_delete_resource();
  HostBatch batch{.x = {}, .y = {}, .packed = std::pmr::vector<std::byte>(memory)};
  const Packed packed{count, image_bytes};
  if (pinned_) {
    batch.packed.resize(static_cast<size_t>(packed.bytes()));
  } else {
    batch.x.resize(static_cast<size_t>(count * image_bytes));
    batch.y.resize(static_cast<size_t>(count));
  }
  std::byte* const bytes = batch.packed.data();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t image = order[begin + i];
    const Augmentation augmentation =
        draw_augmentation(attrs_.augment, dataset_.height, dataset_.width, attrs_.seed, epoch,
                          static_cast<uint64_t>(image));
    if (pinned_) {
      augment_image(dataset_, image, bytes_.data(), augmentation,
                    reinterpret_cast<uint8_t*>(bytes + packed.images()) + i * image_bytes);
      auto* blank = reinterpret_cast<int32_t*>(bytes + packed.blanks()) + 4 * i;
      for (const int64_t side : {augmentation.cut_top, augmentation.cut_bottom,
                                 augmentation.cut_left, augmentation.cut_right})
        *blank++ = static_cast<int32_t>(side);
      reinterpret_cast<int64_t*>(bytes)[i] = dataset_.labels[image];
    } else {
      augment_image(dataset_, image, normalized_.data(), augmentation,
                    batch.x.data() + i * image_bytes);
      batch.y[i] = dataset_.labels[image];
    }
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
  if (sent_) {  // the GPU reads what the workers wrote
    std::optional<PackedBatch> packed = next_packed();
    if (!packed) return std::nullopt;
    const Batch batch = packed->unpack(packed->bytes.data());
    sent_->add(std::move(*packed), cuda_queue().mark());
    return batch;
  }
  const std::optional<HostBatch> host = epoch_->batches();
  if (!host) return std::nullopt;
  const MemoryScope scope(MemoryClass::input);
  const auto n = static_cast<int64_t>(host->y.size());
  return Batch{Tensor::of<float>(host->x, {n, dataset_.height, dataset_.width, dataset_.channels}),
               Tensor::of<int64_t>(host->y, {n})};
}

std::optional<PackedBatch> Loader::next_packed() {
  check<StateError>(epoch_ != nullptr, "loader: no epoch was begun. Call start(epoch) first.");
  check<StateError>(sent_ != nullptr,
                    "loader: batches are packed for a GPU only: this one's lie on the ",
                    attrs_.device, ". Use next().");
  std::optional<HostBatch> host = epoch_->batches();
  if (!host) return std::nullopt;
  const int64_t one = Packed{1, dataset_.image_bytes()}.bytes();
  const Packed packed{std::ssize(host->packed) / one, dataset_.image_bytes()};
  const Shape shape{packed.count, dataset_.height, dataset_.width, dataset_.channels};
  return PackedBatch{
      std::move(host->packed),
      [packed, shape, normalization = dataset_.normalization](const std::byte* from) {
        const MemoryScope scope(MemoryClass::input);
        const Batch batch{Tensor::empty({shape, DType::f32, Device::cuda}, "loader"),
                          Tensor::empty({{packed.count}, DType::i64, Device::cuda}, "loader")};
        cuda_queue().normalize({.bytes = reinterpret_cast<const uint8_t*>(from + packed.images()),
                                .blanks = reinterpret_cast<const int32_t*>(from + packed.blanks()),
                                .count = packed.count,
                                .height = shape[1],
                                .width = shape[2],
                                .channels = shape[3],
                                .mean = normalization.mean,
                                .stddev = normalization.stddev},
                               static_cast<float*>(view_of(batch.x.value()).data));
        cuda_queue().copy_direct(view_of(batch.y.value()).data, from, packed.blanks());
        return batch;
      }};
}

}  // namespace plimsoll::data
