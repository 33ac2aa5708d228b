#include "ops/common/pointwise.h"

namespace plimsoll {

Metas infer_binary(const char* name, std::span<const Meta> in) {
  check_same_type(name, in);
  check_floating(name, in[0].dtype);
  return {{broadcast(name, in[0].shape, in[1].shape), in[0].dtype, in[0].device}};
}

}  // namespace plimsoll
