#include "core/base/shape.h"

namespace plimsoll {

Shape::Shape(std::span<const int64_t> sizes) {
  for (const int64_t size : sizes) push_back(size);
}

void Shape::push_back(int64_t size) {
  check<ShapeError>(rank_ < kMaxRank, "shape: more than ", kMaxRank,
                    " axes were given. Merge some of them with reshape.");
  sizes_[rank_++] = size;
}

void append_text(std::string& out, const Shape& shape) {
  out += '[';
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) out += ", ";
    append_text(out, shape[axis]);
  }
  out += ']';
}

int64_t checked_mul(int64_t a, int64_t b, const char* what) {
  int64_t result = 0;
  check<ShapeError>(!__builtin_mul_overflow(a, b, &result), what, ": ", a, " * ", b,
                    " does not fit in 63 bits. Use smaller sizes.");
  return result;
}

int64_t checked_add(int64_t a, int64_t b, const char* what) {
  int64_t result = 0;
  check<ShapeError>(!__builtin_add_overflow(a, b, &result), what, ": ", a, " + ", b,
                    " does not fit in 63 bits. Use smaller sizes.");
  return result;
}

int64_t count(const Shape& shape) {
  int64_t n = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    check<ShapeError>(size >= 0, "shape: a size is negative: ", shape, ". Use sizes of 0 or more.");
    empty = empty || size == 0;
  }
  if (empty) return 0;
  for (const int64_t size : shape) n = checked_mul(n, size, "shape");
  return n;
}

namespace {

bool is_empty(const Shape& shape) {
  for (const int64_t size : shape)
    if (size == 0) return true;
  return false;
}

}  // namespace

Strides row_major(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  const bool empty = is_empty(shape);  // its strides are never used, and sizes may be huge
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    if (axis > 0 && !empty) step = checked_mul(step, shape[axis], "strides");
  }
  return strides;
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  if (is_empty(shape)) return true;
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

int normal_axis(const char* op, int64_t axis, int rank) {
  check<ShapeError>(axis >= -rank && axis < rank, op, ": the axis does not exist: axis ", axis,
                    " of a tensor with ", rank, " axes. Count axes from 0, or from -1 backwards.");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    const int64_t x = longer[axis + shift];
    const int64_t y = shorter[axis];
    check<ShapeError>(x == y || x == 1 || y == 1, op, ": the shapes do not broadcast: ", a, " and ",
                      b, ". Sizes must be equal or 1, aligned at the last axis.");
    result[axis + shift] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace plimsoll
