#include "ops/common/update.h"

#include <cmath>

namespace plimsoll {

void check_gradient(const char* op, const Meta& parameter, const Meta& gradient) {
  check<DTypeError>(is_floating(parameter.dtype), op, ": a floating parameter is needed: got ",
                    parameter, ". Cast it first.");
  check<ShapeError>(gradient.shape == parameter.shape, op,
                    ": the gradient has another shape: parameter ", parameter.shape, ", gradient ",
                    gradient.shape, ". Pass the gradient of this parameter.");
  check<DTypeError>(gradient.dtype == parameter.dtype, op,
                    ": the gradient has another type: parameter ", parameter.dtype, ", gradient ",
                    gradient.dtype, ". Cast it first.");
}

void check_state(const char* op, const char* name, const Meta& parameter, const Meta& state) {
  const DType dtype = compute_dtype(parameter.dtype);
  check<ShapeError>(state.shape == parameter.shape, op, ": the ", name,
                    " has another shape: parameter ", parameter.shape, ", ", name, " ", state.shape,
                    ". Make it zeros of the parameter's shape.");
  check<DTypeError>(state.dtype == dtype, op, ": the ", name, " has the wrong type: got ",
                    state.dtype, " for a parameter in ", parameter.dtype, ". Make it ", dtype, ".");
}

void check_scalar(const char* op, const char* name, const Meta& scalar) {
  check<ShapeError>(scalar.shape.rank() == 0, op, ": the ", name, " must be a scalar: got ", scalar,
                    ". Use full({}, value).");
  check<DTypeError>(scalar.dtype == DType::f32 || scalar.dtype == DType::f64, op, ": the ", name,
                    " must be f32 or f64: got ", scalar, ". Use full({}, value).");
}

void check_counter(const char* op, const Meta& counter) {
  check<DTypeError>(counter.dtype == DType::i64, op, ": the step count must be i64: got ", counter,
                    ". Use zeros({}, {.dtype = DType::i64}).");
  check<ShapeError>(counter.shape.rank() == 0, op, ": the step count must be a scalar: got ",
                    counter, ". Use zeros({}, {.dtype = DType::i64}).");
}

void check_skip(const char* op, const Meta& skip) {
  check<DTypeError>(skip.dtype == DType::boolean, op, ": what says to skip must be bool: got ",
                    skip, ". Use nonfinite().");
  check<ShapeError>(skip.shape.rank() == 0, op, ": what says to skip must be a scalar: got ", skip,
                    ". Use nonfinite().");
}

void throw_bad_step(const char* op, int64_t step) {
  fail<ValueError>(op, ": the step is counted from 1: got ", step,
                   ". Call increment() on it first.");
}

double read_step(const char* op, const View& counter) {
  const int64_t step = *counter.as<int64_t>();
  if (step < 1) throw_bad_step(op, step);
  return static_cast<double>(step);
}

void check_number(const char* op, const char* name, double value) {
  check<ValueError>(value >= 0 && std::isfinite(value), op, ": ", name,
                    " is not a number from 0: ", value, ". Use 0 or more.");
}

void check_share(const char* op, const char* name, double value) {
  check<ValueError>(value >= 0 && value < 1, op, ": ", name, " is out of range: ", value,
                    ". Use 0 <= ", name, " < 1.");
}

double read_scalar(const View& scalar) {
  return scalar.dtype() == DType::f64 ? *scalar.as<double>()
                                      : static_cast<double>(*scalar.as<float>());
}

}  // namespace plimsoll
