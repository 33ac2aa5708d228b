// Public functions of ops called with an undefined tensor: they say so, under their own name, and
// do not take it for a scalar.
#include <array>
#include <functional>

#include "ops/ops.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

TEST(Ops, AnUndefinedTensorIsRefusedByName) {
  const Tensor none;
  const Tensor x = ones({2, 4});
  const std::array pair{x, none};
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"add", [&] { add(x, none); }},
      {"affine", [&] { none * 2.0; }},
      {"amax", [&] { amax(none, {0}); }},
      {"amin", [&] { amin(none, {}); }},
      {"argmax", [&] { argmax(none, 0); }},
      {"argmin", [&] { argmin(none, -1); }},
      {"attention", [&] { attention(x, none, x); }},
      {"cast", [&] { cast(none, DType::f64); }},
      {"clone", [&] { clone(none); }},
      {"concat", [&] { concat(pair, 0); }},
      {"conv2d", [&] { conv2d(x, none); }},
      {"cross_entropy", [&] { cross_entropy(none, x); }},
      {"embedding", [&] { embedding(x, none); }},
      {"expand", [&] { expand(none, {2}); }},
      {"gather", [&] { gather(x, 0, none); }},
      {"layer_norm", [&] { layer_norm(x, x, none); }},
      {"linear", [&] { linear(none, x); }},
      {"logsumexp", [&] { logsumexp(none, {0}); }},
      {"matmul", [&] { matmul(none, x); }},
      {"mean", [&] { mean(none); }},
      {"mean", [&] { mean(none, {0}); }},
      {"pow", [&] { pow(none, 2.0); }},
      {"relu", [&] { relu(none); }},
      {"reshape", [&] { reshape(none, {1}); }},
      {"slice", [&] { slice(none, 0, 0, 1); }},
      {"softmax", [&] { softmax(none); }},
      {"split", [&] { split(none, 0, {1}); }},
      {"stack", [&] { stack(pair); }},
      {"sum", [&] { sum(none); }},
      {"sum", [&] { sum(none, {0}); }},
      {"sum", [&] { sum(none, {}); }},
      {"sum_to", [&] { sum_to(none, {}); }},
      {"transpose", [&] { transpose(none); }},
      {"where", [&] { where(none, x, x); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string text = error_of<StateError>(call);
    EXPECT_TRUE(text.starts_with(std::string(name) + ": ")) << name << " says: " << text;
    EXPECT_NE(text.find(" is undefined. Pass "), std::string::npos) << name << " says: " << text;
  }
}

TEST(Ops, AListInBracesIsSizesOfASplit) {
  const Tensor x = ones({5});
  EXPECT_EQ(split(x, 0, {5}).size(), 1U);
  EXPECT_EQ(split(x, 0, 5).size(), 5U);
  EXPECT_EQ(split(x, 0, {2, 3})[1].shape(), (Shape{3}));
  expect_error<ShapeError>([&] { split(x, 0, {}); },
                           "split: the sizes do not add up to the axis: [] for axis 0 of [5]. Give "
                           "sizes from 0 with the sum 5.");
}

}  // namespace
}  // namespace plimsoll
