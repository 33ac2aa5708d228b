#include "nn/decoder/packed.h"

#include "nn/expect.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {

Packed::Packed(std::unique_ptr<Decoder> decoder) : decoder_(add("model", std::move(decoder))) {}

Tensor Packed::forward(const Tensor& x, const Mode& mode) const {
  check_defined("packed", x);
  check<ShapeError>(x.rank() == 3 && x.size(1) == 3,
                    "packed: the rows are not [B, 3, T]: ", x.shape(),
                    ". Give each its tokens, segments and positions.");
  const auto part = [&](int64_t i) {
    return reshape(slice(x, 1, i, i + 1), {x.size(0), x.size(2)});
  };
  Mode inner = mode;
  inner.segments = part(1);
  inner.positions = part(2);
  return decoder_(part(0), inner);
}

}  // namespace plimsoll::nn
