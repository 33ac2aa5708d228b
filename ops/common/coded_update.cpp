#include "ops/common/coded_update.h"

namespace plimsoll {

void check_coded(const char* op, const char* name, const Meta& parameter, const Meta& codes,
                 const Meta& scales) {
  check<DTypeError>(codes.dtype == DType::u8 && scales.dtype == DType::f32, op, ": the ", name,
                    " has the wrong types: codes in ", codes.dtype, " and scales in ", scales.dtype,
                    ". Make them u8 and f32.");
  check<ShapeError>(codes.shape == parameter.shape, op, ": the ", name,
                    " has another shape: parameter ", parameter.shape, ", codes ", codes.shape,
                    ". Make it zeros of the parameter's shape.");
  const Shape blocks{coded_blocks(count(parameter.shape))};
  check<ShapeError>(scales.shape == blocks, op, ": the ", name,
                    " has not a scale for each block of 256 elements: parameter ", parameter.shape,
                    ", scales ", scales.shape, ". Give them the shape ", blocks, ".");
}

}  // namespace plimsoll
