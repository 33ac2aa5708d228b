// Shapes, tensors, attributes and the sentences they throw.
#include "core/tensor/tensor.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/engine/apply.h"
#include "ops/ops.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

TEST(Shape, CountsAndRefuses) {
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({3, 0, 5}), 0);
  EXPECT_EQ(row_major({2, 3, 4}), (Strides{12, 4, 1}));
  expect_error<ShapeError>(
      [] {
        count({2, -1});
      },
      "shape: a size is negative: [2, -1]. Use sizes of 0 or more.");
  const int64_t big = std::numeric_limits<int64_t>::max() / 2;
  expect_error<ShapeError>(
      [&] {
        count({big, 3});
      },
      cat("shape: ", big, " * 3 does not fit in 63 bits. Use smaller sizes."));
  expect_error<ShapeError>(
      [] {
        Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
      },
      "shape: more than 8 axes were given. Merge some of them with reshape.");
  EXPECT_EQ(count({big, 0, big, big}), 0);  // empty is empty, whatever the other sizes
}

TEST(Shape, RowMajorIgnoresAxesOfSizeOneAndEmptyTensors) {
  EXPECT_TRUE(is_row_major({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(is_row_major({2, 3}, {1, 2}));
  EXPECT_TRUE(is_row_major({0, 3}, {1, 7}));
  EXPECT_TRUE(is_row_major({3, 0}, {1, 7}));
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast("t", {3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast("t", {0, 1}, {1, 5}), (Shape{0, 5}));
  EXPECT_EQ(broadcast("t", {}, {2, 2}), (Shape{2, 2}));
  EXPECT_THROW(broadcast("t", {2}, {3}), ShapeError);
}

TEST(Tensor, HoldsScalarsAndNothing) {
  EXPECT_EQ(Tensor::of<float>({2.5f}, {}).item(), 2.5);
  const Tensor empty = Tensor::of<float>({}, {0, 3});
  EXPECT_EQ(empty.count(), 0);
  EXPECT_TRUE(empty.to_vector<float>().empty());
  EXPECT_FALSE(Tensor().defined());
}

// A type without a dtype is refused when the program is compiled: to read its bytes as another's
// would be to make up numbers.
template <class T>
concept HasTensors = requires(std::span<const T> values) {
  Tensor::of(values, {1});
};
template <class T>
concept HasData = requires(const Tensor& x) {
  x.template data<T>();
};
template <class T>
concept CanBeWritten = requires(const Tensor& x, std::span<const T> values) {
  x.write(values);
};
static_assert(HasTensors<float> && HasData<float> && CanBeWritten<float>);
static_assert(!HasTensors<size_t> && !HasTensors<long long> && !HasTensors<int16_t>);
static_assert(!HasData<unsigned> && !HasData<const double> && !CanBeWritten<unsigned>);

TEST(Tensor, ReadsValuesThatDoNotFitAsCastDoes) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({300, -1, NAN, 3e9f, -inf, 1e30f}, {6});
  EXPECT_EQ(x.to_vector<uint8_t>(), (std::vector<uint8_t>{255, 0, 0, 255, 0, 255}));
  const int32_t low = std::numeric_limits<int32_t>::min();
  const int32_t high = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{300, -1, 0, high, low, high}));
}

TEST(Tensor, ConvertsOnReading) {
  const Tensor ids = Tensor::of<int64_t>({1, -2, 3}, {3});
  EXPECT_EQ(ids.to_vector<float>(), (std::vector<float>{1, -2, 3}));
  EXPECT_EQ(cast(ids, DType::f16).to_vector<double>(), (std::vector<double>{1, -2, 3}));
}

TEST(Tensor, WritesInPlaceForEveryHandle) {
  const Tensor a = zeros({2});
  const Tensor b = a;
  const std::vector<float> values{3, 4};
  a.write(std::span<const float>(values));
  EXPECT_EQ(b.to_vector<float>(), values);
}

TEST(Tensor, Refuses) {
  const Tensor x = zeros({2, 3});
  expect_error<ShapeError>([&] { x.item(); },
                           "item: the tensor has 6 elements: f32 [2, 3] on cpu. "
                           "Reduce it to one first.");
  expect_error<DTypeError>([&] { (void)x.data<double>(); },
                           "data: asked for f64 but the tensor is f32 [2, 3] on cpu. "
                           "Ask for its own type.");
  expect_error<ShapeError>(
      [] {
        Tensor::of<float>({1, 2, 3}, {2});
      },
      "tensor: the number of values is wrong: 3 values for shape [2]. "
      "Give one value for each element.");
  expect_error<DTypeError>([] { zeros({2}, {.dtype = DType::i64}).require_grad(); },
                           "require_grad: only floating types have gradients: i64 [2] on cpu. "
                           "Cast it first.");
  expect_error<StateError>([] { Tensor().item(); },
                           "item: the tensor is undefined. Pass one that was computed.");
}

TEST(Device, NullHasNoBytes) {
  const Tensor nothing = relu(Tensor::empty({{1 << 20, 1 << 20}, DType::f32, Device::null}));
  expect_error<DeviceError>([&] { nothing.to_vector<float>(); },
                            "to_vector: the null device has no bytes: f32 [1048576, 1048576] on "
                            "null. Compute on the cpu device to look at values.");
  expect_error<DeviceError>([&] { add(nothing, zeros({1})); },
                            "add: the inputs are on different devices: f32 [1048576, 1048576] on "
                            "null and f32 [1] on cpu. Move them to one device first.");
}

TEST(Attrs, CompareAndRefuseTheWrongType) {
  struct A {
    int v;
    bool operator==(const A&) const = default;
  };
  struct B {
    int v;
    bool operator==(const B&) const = default;
  };
  EXPECT_TRUE(Attrs(A{1}) == Attrs(A{1}));
  EXPECT_FALSE(Attrs(A{1}) == Attrs(A{2}));
  EXPECT_FALSE(Attrs(A{1}) == Attrs(B{1}));
  EXPECT_TRUE(Attrs() == Attrs());
  EXPECT_THROW(Attrs(A{1}).as<B>(), StateError);
}

TEST(Finite, NamesTheFirstOpThatWroteNaN) {
  ApplyMode mode = apply_mode();
  mode.check_finite = true;
  const ApplyModeScope scope(mode);
  const Tensor x = Tensor::of<float>({1, 0}, {2});
  const Tensor fine = x * 3.0;
  expect_error<NumericError>([&] { relu(div(fine, x)); },
                             "div: output 0 holds NaN or infinity: f32 [2] on cpu. "
                             "Lower the learning rate or look at this op's inputs.");
}

}  // namespace
}  // namespace plimsoll
