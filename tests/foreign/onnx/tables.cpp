// All tables in one.
#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {

const Ops& all_ops() {
  static const Ops all = [] {
    Ops ops;
    for (const auto& family : {pointwise_ops(), reduction_ops(), shape_ops(), index_ops(),
                               product_ops(), convolution_ops(), norm_ops(), pool_ops(),
                               resize_ops(), loss_ops(), attention_ops(), optimizer_ops()})
      ops.insert(family.begin(), family.end());
    return ops;
  }();
  return all;
}

}  // namespace plimsoll::onnx
