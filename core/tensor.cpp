#include "core/tensor.h"

namespace plimsoll {

Tensor Tensor::empty(const Meta& meta, const char* op) {
  const int64_t bytes = bytes_of(meta);  // first: it refuses sizes that row_major() cannot multiply
  return Tensor(Value{meta, row_major(meta.shape), 0,
                      Storage::allocate(meta.device, bytes, MemoryScope::current(), op)});
}

int64_t Tensor::size(int axis) const {
  check<StateError>(defined(), "size: the tensor is undefined. Pass one that was computed.");
  return shape()[normal_axis("size", axis, rank())];
}

Tensor Tensor::require_grad() const {
  check<StateError>(defined(), "require_grad: the tensor is undefined. Give it a value first.");
  check<DTypeError>(is_floating(dtype()),
                    "require_grad: only floating types have gradients: ", meta(),
                    ". Cast it first.");
  auto leaf = std::make_shared<Node>();
  leaf->out_metas.push_back(meta());
  return Tensor(value_, {std::move(leaf), 0});
}

Tensor Tensor::grad() const {
  if (!edge_.node || edge_.node->op || !edge_.node->grad.storage) return {};
  return Tensor(edge_.node->grad);
}

}  // namespace plimsoll
