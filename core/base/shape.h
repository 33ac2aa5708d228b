// Shape: up to 8 sizes, no heap. [] is a scalar, a size of 0 is an empty tensor.
//
//   Shape s{32, 28, 28, 1};            // [N, H, W, C]
//   count(s);                          // 25088, checked against overflow
//   row_major(s);                      // strides {784, 28, 1, 1}, in elements
#pragma once

#include <array>
#include <initializer_list>
#include <span>

#include "core/base/error.h"

namespace plimsoll {

constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const int64_t> sizes);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return sizes_[axis]; }
  int64_t& operator[](int axis) { return sizes_[axis]; }
  int64_t back() const { return sizes_[rank_ - 1]; }
  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + rank_; }
  void push_back(int64_t size);  // ShapeError past 8 axes

  // Unused places stay zero, so comparing all eight compares the shapes.
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

// Distances between neighbours along each axis, in elements. The same small list of integers.
using Strides = Shape;

void append_text(std::string& out, const Shape& shape);  // "[32, 28, 28, 1]"

// Number of elements. ShapeError on a negative size or when it does not fit 63 bits.
int64_t count(const Shape& shape);

// Strides of a tensor whose elements lie one after another, last axis fastest.
Strides row_major(const Shape& shape);

// True when the strides describe row-major memory; axes of size 1 and empty tensors do not care.
bool is_row_major(const Shape& shape, const Strides& strides);

// Axis counted from the front; -1 is the last one. ShapeError when out of range.
int normal_axis(const char* op, int64_t axis, int rank);

// NumPy's rule: align right, sizes equal or 1. ShapeError otherwise.
Shape broadcast(const char* op, const Shape& a, const Shape& b);

// a * b and a + b for sizes: ShapeError (naming `what`) where 63 bits do not hold the result.
int64_t checked_mul(int64_t a, int64_t b, const char* what);
int64_t checked_add(int64_t a, int64_t b, const char* what);

}  // namespace plimsoll
