#include "examples/common/synthetic.h"

#include "core/base/philox.h"
#include "ops/ops.h"

namespace plimsoll::examples {
namespace {

// Whole numbers from 0 to below `count`. In f64 no draw is rounded up to it.
Tensor ids(const Shape& shape, int64_t count, uint64_t key, Device device) {
  const Placement placement{.dtype = DType::f64, .device = device};
  return cast(uniform(shape, 0, static_cast<double>(count), key, placement), DType::i64);
}

}  // namespace

data::Batch synthetic_images(ImageSize image, int64_t batch, uint64_t seed, Device device) {
  const MemoryScope scope(MemoryClass::input);
  Keys keys(seed);
  const Shape shape{batch, image.height, image.width, image.channels};
  const Tensor x = normal(shape, 0, 1, keys.next(), {.device = device});
  return {x, ids({batch}, image.classes, keys.next(), device)};
}

data::Batch synthetic_tokens(int64_t vocabulary, int64_t batch, int64_t context, uint64_t seed,
                             Device device) {
  const MemoryScope scope(MemoryClass::input);
  const Tensor all = ids({batch, context + 1}, vocabulary, Keys(seed).next(), device);
  return {clone(slice(all, 1, 0, context)), clone(slice(all, 1, 1, context + 1))};
}

data::Batch synthetic_passages(int64_t vocabulary, int64_t classes, int64_t batch, int64_t context,
                               uint64_t seed, Device device) {
  const MemoryScope scope(MemoryClass::input);
  Keys keys(seed);
  const Tensor x = ids({batch, context}, vocabulary, keys.next(), device);
  return {x, ids({batch}, classes, keys.next(), device)};
}

train::Batches synthetic_batches(const data::Batch& batch, const char* item, int64_t items) {
  return {.at = [batch](int64_t) { return batch; },
          .count = 1,
          .name = cat("one synthetic batch, ", batch.x.shape(), ", in every step"),
          .identity = {{"data", cat("synthetic, ", batch.x.shape())}},
          .item = item,
          .items = items};
}

}  // namespace plimsoll::examples
