// Tensor: the user's handle. Copying one is cheap and shares the bytes.
//
//   Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
//   Tensor w = Tensor::of<float>({1, 0, 1}, {3, 1}).require_grad();
//   Tensor y = matmul(x, w);           // [2, 1]
//   y.to_vector<float>();              // {4, 10}
#pragma once

#include <concepts>
#include <span>

#include "core/tensor/node.h"

namespace plimsoll {

// What elements are read as. 16-bit ones are read as float, bool as uint8_t: 0 or 1.
template <class T>
concept Readable = std::same_as<T, double> || std::same_as<T, float> || std::same_as<T, int64_t> ||
    std::same_as<T, int32_t> || std::same_as<T, uint8_t>;

class Tensor {
 public:
  Tensor() = default;  // undefined: stands for "none"
  explicit Tensor(Value value, Edge edge = {}) : value_(std::move(value)), edge_(std::move(edge)) {}

  // New memory with undefined contents. ShapeError on bad sizes, OutOfMemory.
  static Tensor empty(const Meta& meta, const char* op = "empty");
  // A copy of `values` in row-major order. ShapeError when their number is not count(shape).
  template <Element T>
  static Tensor of(std::span<const T> values, const Shape& shape, Device device = Device::cpu) {
    return copied(values.data(), static_cast<int64_t>(values.size()), {shape, dtype_of<T>, device});
  }
  template <Element T>
  static Tensor of(std::initializer_list<T> values, const Shape& shape) {
    return of(std::span<const T>(values.begin(), values.size()), shape);
  }

  bool defined() const { return value_.storage != nullptr; }
  const Value& value() const { return value_; }
  const Meta& meta() const { return value_.meta; }
  const Shape& shape() const { return value_.meta.shape; }
  DType dtype() const { return value_.meta.dtype; }
  Device device() const { return value_.meta.device; }
  int rank() const { return shape().rank(); }
  int64_t size(int axis) const;  // negative axes count from the back
  int64_t count() const { return plimsoll::count(shape()); }
  bool contiguous() const { return value_.contiguous(); }

  // Address of the first element; the others follow at the strides of value(). DTypeError when T is
  // another type; StateError while the value is only known symbolically or lives on a device
  // without bytes.
  template <Element T>
  T* data() const {
    return static_cast<T*>(address(dtype_of<T>));
  }

  // The elements in row-major order, converted as cast() does. StateError: there are no bytes.
  template <Readable T>
  std::vector<T> to_vector() const;
  // The single element of a tensor with one element, converted to T. ShapeError for several.
  template <Readable T = double>
  T item() const;
  // Overwrites all elements in place, in row-major order; seen by everyone who shares the bytes.
  // StateError while a step is being captured: a replay would not do it again.
  template <Element T>
  void write(std::span<const T> values) const {
    write_bytes(values.data(), static_cast<int64_t>(values.size()), dtype_of<T>);
  }

  // A leaf of the tape with the same bytes: gradients can be asked for it. Floating types only.
  Tensor require_grad() const;
  bool needs_grad() const { return edge_.node != nullptr; }
  const Edge& edge() const { return edge_; }
  Tensor detach() const { return Tensor(value_); }  // the same bytes, off the tape
  Tensor grad() const;  // of a leaf: what backward() added up; undefined when nothing was

 private:
  static Tensor copied(const void* values, int64_t n, const Meta& meta);
  void* address(DType wanted) const;
  void write_bytes(const void* values, int64_t n, DType dtype) const;
  void fill(const void* values) const;
  void require_bytes(const char* op) const;

  Value value_;
  Edge edge_;
};

// Files the tensor's memory under another class, in the statistics or in the captured program.
// StateError when it is undefined.
void set_memory_class(const Tensor& tensor, MemoryClass memory_class);

}  // namespace plimsoll
