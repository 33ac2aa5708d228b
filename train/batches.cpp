#include "train/batches.h"

#include "core/base/hash.h"
#include "data/loader.h"

namespace plimsoll::train {
namespace {

constexpr size_t kHashed = size_t{1} << 22;  // bytes: all pixels of a large set would take a while

std::string hash_of(const data::ImageDataset& images) {
  const uint64_t hash =
      fnv1a(std::as_bytes(std::span(images.pixels).first(std::min(images.pixels.size(), kHashed))));
  return cat(fnv1a(std::as_bytes(std::span(images.labels)), hash));
}

// Which batches of each window are asked for.
struct Share {
  int64_t window = 1, first = 0, count = 1;

  // From one that is, to the next.
  int64_t steps_from(int64_t number) const {
    const bool last = number % window + 1 == first + count;
    return last ? window - count + 1 : 1;
  }
};

std::vector<Metas> kinds_of(const data::Loader& loader) {
  const data::ImageDataset& set = loader.dataset();
  const int64_t full = loader.attrs().batch;
  const int64_t rest = loader.attrs().drop_last ? 0 : set.count() % full;
  std::vector<Metas> kinds;
  for (const int64_t n : {full, rest}) {
    if (n == 0) continue;
    const Device device = loader.attrs().device;
    kinds.push_back({{{n, set.height, set.width, set.channels}, DType::f32, device},
                     {{n}, DType::i64, device}});
  }
  return kinds;
}

}  // namespace

Batches batches(data::Loader& loader) {
  return batches(std::shared_ptr<data::Loader>(std::shared_ptr<void>(), &loader));
}

Batches batches(std::shared_ptr<data::Loader> owned) {
  const data::Loader& loader = *owned;
  const data::ImageDataset& set = loader.dataset();
  const int64_t count = loader.batches();
  const auto shared = std::make_shared<Share>();
  const auto at = [owned, count, shared, next = int64_t{-1}](int64_t number) mutable {
    if (number != next) owned->start(static_cast<uint64_t>(number / count), number % count);
    const int64_t steps = shared->steps_from(number % count);
    next = number % count + steps < count ? number + steps : -1;  // another epoch is begun anew
    return *owned->next();
  };
  const auto share = [owned, shared](int64_t window, int64_t first, int64_t size) {
    owned->share(window, first, size);
    *shared = {window, first, size};
  };
  return {.at = at,
          .share = share,
          .count = count,
          .kinds = kinds_of(loader),
          .name = cat(set.name, ", ", set.count(), " images"),
          .identity = cat(set.name, " of ", set.count(), ", ", hash_of(set)),
          .item = "images",
          .items = loader.attrs().batch,
          .data_bytes = std::ssize(set.pixels) + std::ssize(set.labels) * int64_t{sizeof(int64_t)},
          .host_bytes = loader.host_bytes()};
}

Batches completed(Batches batches) {
  check<ValueError>(static_cast<bool>(batches.at), "train: there are no batches. Set Batches::at.");
  for (const Metas& kind : batches.kinds)
    check<ValueError>(kind.size() == 2, "train: a kind of batch is {x, y}: ", kind.size(),
                      " tensors. Give two, or none.");
  const auto add = [&](int64_t number) {
    const data::Batch batch = batches.at(number);
    batches.kinds.push_back({batch.x.meta(), batch.y.meta()});
    if (batches.items == 0) batches.items = batch.y.count();
  };
  if (batches.kinds.empty()) {
    add(0);
    if (batches.count > 1) add(batches.count - 1);
  } else if (batches.items == 0) {
    batches.items = count(batches.kinds.front()[1].shape);
  }
  return batches;
}

}  // namespace plimsoll::train
