#include "core/engine/backward.h"

namespace plimsoll {
namespace {

// A saved value as a tensor on the tape again, so that the gradient rule can itself be recorded.
Tensor saved(const Node& node, const char* side, int number, const std::vector<Value>& values,
             const std::vector<uint32_t>& versions, Edge edge) {
  const Value& value = values[number];
  check<StateError>(value.storage != nullptr, node.op->name, ": its gradient read ", side, " ",
                    number, ", which the op does not declare in `vjp`. Declare it.");
  check<StateError>(value.storage->version() == versions[number], node.op->name, ": ", side, " ",
                    number, " was changed in place after the op ran: ", value.meta,
                    ". Take the gradients before updating it.");
  return Tensor(value, std::move(edge));
}

}  // namespace

Tensor Backward::input(int number) const {
  return saved(*node_, "input", number, node_->in, node_->in_versions, node_->parents[number]);
}

Tensor Backward::output(int number) const {
  return saved(*node_, "output", number, node_->out, node_->out_versions, {node_, number});
}

}  // namespace plimsoll
