#include "ops/common/pointwise.h"

namespace plimsoll {

Metas infer_binary(const char* name, std::span<const Meta> in) {
  check<DTypeError>(in[0].dtype == in[1].dtype, name, ": the types differ: ", in[0].dtype, " and ",
                    in[1].dtype, ". Cast one of them.");
  check<DTypeError>(is_floating(in[0].dtype), name, ": a floating type is needed: got ",
                    in[0].dtype, ". Cast it first.");
  return {{broadcast(name, in[0].shape, in[1].shape), in[0].dtype, in[0].device}};
}

}  // namespace plimsoll
