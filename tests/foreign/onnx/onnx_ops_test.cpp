// ONNX's ops as the tables write them, where ONNX's own rules need care: small cases worked out by
// hand.
#include <gtest/gtest.h>

#include <limits>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

using Doubles = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor real(const Shape& shape, Doubles values) {
  return cast(Tensor::of(std::span<const double>(values), shape), DType::f32);
}
Tensor counted(const Shape& shape) {  // 0, 1, 2, ...
  Doubles values(static_cast<size_t>(count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return real(shape, values);
}
Tensor whole(std::vector<int64_t> values) {
  return Tensor::of(std::span<const int64_t>(values), {static_cast<int64_t>(values.size())});
}

// A node with its attributes: Apply("Pool").with("axis", 1)({x}).
struct Apply {
  Node node;
  int64_t opset = 25;
  explicit Apply(const char* op, size_t outputs = 1) {
    node.op = op;
    node.outputs.resize(outputs, "y");
  }
  Apply& with(const char* name, int64_t v) {
    node.attributes[name].integer = v;
    return *this;
  }
  Apply& with(const char* name, const char* v) {
    node.attributes[name].text = v;
    return *this;
  }
  Apply& with(const char* name, std::vector<int64_t> v) {
    node.attributes[name].integers = std::move(v);
    return *this;
  }
  Apply& real(const char* name, double v) {
    node.attributes[name].real = v;
    return *this;
  }
  std::vector<Tensor> all(std::vector<Tensor> in) {
    return all_ops().at(node.op)({node, opset, std::move(in)});
  }
  Doubles operator()(std::vector<Tensor> in) { return all(std::move(in))[0].to_vector<double>(); }
};

TEST(OnnxOps, ModHasTheSignOfTheDivisorOrOfTheDividend) {
  const Tensor a = whole({7, -7, 7, -7, 6}), b = whole({3, 3, -3, -3, 3});
  EXPECT_EQ(Apply("Mod")({a, b}), (Doubles{1, 2, -2, -1, 0}));
  EXPECT_EQ(Apply("Mod").with("fmod", 1)({a, b}), (Doubles{1, -1, 1, -1, 0}));
  EXPECT_EQ(Apply("Mod")({real({2}, {5.5, -5.5}), real({2}, {kInf, kInf})}), (Doubles{5.5, kInf}));
}

TEST(OnnxOps, FloorAndCeil) {
  const Tensor x = real({4}, {1.5, -1.5, 2, -0.25});
  EXPECT_EQ(Apply("Floor")({x}), (Doubles{1, -2, 2, -1}));
  EXPECT_EQ(Apply("Ceil")({x}), (Doubles{2, -1, 2, 0}));
}

TEST(OnnxOps, Range) {
  const auto scalar = [](double v) { return real({}, {v}); };
  EXPECT_EQ(Apply("Range")({scalar(1), scalar(4.5), scalar(2)}), (Doubles{1, 3}));
  EXPECT_EQ(Apply("Range")({scalar(3), scalar(0), scalar(-1)}), (Doubles{3, 2, 1}));
  EXPECT_EQ(Apply("Range")({scalar(3), scalar(3), scalar(1)}), Doubles{});
  EXPECT_THROW(Apply("Range")({scalar(3), scalar(4), scalar(0)}), ValueError);
}

TEST(OnnxOps, RowsByNumber) {
  const Tensor x = counted({2, 3, 2});
  const Tensor ids = reshape(whole({1, 0, 0, -1}), {2, 2});
  EXPECT_EQ(Apply("GatherND")({x, ids}), (Doubles{6, 7, 4, 5}));
  EXPECT_EQ(Apply("GatherND").with("batch_dims", 1)({x, reshape(whole({1, 2}), {2, 1})}),
            (Doubles{2, 3, 10, 11}));
  EXPECT_EQ(Apply("ScatterND")(
                {counted({2, 2}), reshape(whole({0, 1, 1, 0}), {2, 2}), real({2}, {8, 9})}),
            (Doubles{0, 8, 9, 3}));
}

TEST(OnnxOps, HardmaxIsTheFirstOfTheLargest) {
  EXPECT_EQ(Apply("Hardmax")({real({1, 3}, {1, 3, 3})}), (Doubles{0, 1, 0}));
}

TEST(OnnxOps, Resize) {
  const Tensor x = reshape(real({2}, {1, 2}), {1, 1, 1, 2}), scales = real({4}, {1, 1, 1, 2});
  EXPECT_EQ(Apply("Resize")({x, {}, scales}), (Doubles{1, 1, 2, 2}));
  EXPECT_EQ(Apply("Resize").with("mode", "linear")({x, {}, scales}), (Doubles{1, 1.25, 1.75, 2}));
  EXPECT_THROW(Apply("Resize").with("mode", "cubic")({x, {}, scales}), Unsupported);
}

TEST(OnnxOps, CenterCropPad) {
  EXPECT_EQ(Apply("CenterCropPad")({counted({5}), whole({2})}), (Doubles{1, 2}));
  EXPECT_EQ(Apply("CenterCropPad")({counted({2}), whole({5})}), (Doubles{0, 0, 1, 0, 0}));
}

TEST(OnnxOps, AttentionSeesWindows) {
  const Tensor q = reshape(zeros({3}), {1, 1, 3, 1}), v = reshape(counted({3}), {1, 1, 3, 1});
  const auto window = [&](int64_t left, int64_t right) {
    return Apply("Attention")
        .with("left_window_size", left)
        .with("right_window_size", right)({q, q, v});
  };
  EXPECT_EQ(window(0, 0), (Doubles{0, 1, 2}));
  EXPECT_EQ(window(1, 0), (Doubles{0, 0.5, 1.5}));
  EXPECT_EQ(window(-1, 1), (Doubles{0.5, 1, 1}));
}

TEST(OnnxOps, Slice) {
  const Tensor x = counted({10});
  const auto slice = [&](int64_t start, int64_t stop, int64_t step) {
    return Apply("Slice")({x, whole({start}), whole({stop}), whole({0}), whole({step})});
  };
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(slice(8, lowest, -3), (Doubles{8, 5, 2}));
  EXPECT_EQ(slice(100, 5, -1), (Doubles{9, 8, 7, 6}));
  EXPECT_EQ(slice(-3, 1000, 2), (Doubles{7, 9}));
  EXPECT_EQ(slice(1000, 2000, 1), Doubles{});
}

TEST(OnnxOps, ShapesAndPlaces) {
  EXPECT_EQ(Apply("Pad")({counted({4}), whole({-1, 2})}), (Doubles{1, 2, 3, 0, 0}));
  EXPECT_EQ(Apply("Split", 4).all({counted({7})})[3].to_vector<double>(), Doubles{6});
  EXPECT_EQ(Apply("Reshape").with("allowzero", 1).all({zeros({0, 3}), whole({3, 0})})[0].shape(),
            (Shape{3, 0}));
  EXPECT_EQ(Apply("Squeeze").all({zeros({1, 3, 1})})[0].shape(), Shape{3});
  EXPECT_EQ(Apply("DepthToSpace").with("blocksize", 2)({counted({1, 8, 1, 1})}),
            (Doubles{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(Apply("DepthToSpace").with("blocksize", 2).with("mode", "CRD")({counted({1, 8, 1, 1})}),
            (Doubles{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Apply("Gather")({counted({3}), whole({-1, 0})}), (Doubles{2, 0}));
  EXPECT_EQ(Apply("ScatterElements")({counted({3}), whole({-1}), real({1}, {7})}),
            (Doubles{0, 1, 7}));
  EXPECT_EQ(
      Apply("OneHot").with("axis", int64_t{0})({whole({-1, 9}), whole({2}), real({2}, {3, 5})}),
      (Doubles{3, 3, 5, 3}));
}

TEST(OnnxOps, Einsum) {
  const Tensor x = counted({2, 2, 2}), m = counted({2, 2});
  const auto einsum = [](const char* equation, std::vector<Tensor> in) {
    return Apply("Einsum").with("equation", equation)(std::move(in));
  };
  EXPECT_EQ(einsum("...ii->...i", {x}), (Doubles{0, 3, 4, 7}));
  EXPECT_EQ(einsum("ij->ji", {m}), (Doubles{0, 2, 1, 3}));
  EXPECT_EQ(einsum("ij->", {m}), Doubles{6});
  EXPECT_EQ(einsum("ba", {m}), (Doubles{0, 2, 1, 3}));  // labels of the result are sorted
  EXPECT_EQ(einsum("ij, jk", {m, m}), (Doubles{2, 3, 6, 11}));
  EXPECT_EQ(einsum("...ij,jk->...ik", {x, m}), (Doubles{2, 3, 6, 11, 10, 19, 14, 27}));
}

TEST(OnnxOps, Reductions) {
  const Tensor ids = whole({3, -4, 5});
  EXPECT_EQ(Apply("ReduceMax").with("keepdims", int64_t{0})({ids}), Doubles{5});
  EXPECT_EQ(Apply("ReduceProd")({ids}), Doubles{-60});
  EXPECT_EQ(Apply("ReduceL1")({ids}), Doubles{12});
  EXPECT_EQ(Apply("ReduceMax")({zeros({0})}), Doubles{-kInf});
  EXPECT_EQ(Apply("ReduceMax")({zeros({0}, {.dtype = DType::boolean})}), Doubles{0});
  EXPECT_EQ(Apply("ReduceMin")({zeros({0}, {.dtype = DType::boolean})}), Doubles{1});
  EXPECT_EQ(Apply("ReduceLogSum")({zeros({0})}), Doubles{-kInf});
  EXPECT_EQ(Apply("ArgMin").with("select_last_index", 1)({real({4}, {1, 0, 0, 2})}), Doubles{2});
  EXPECT_EQ(Apply("TopK", 2).with("largest", int64_t{0})({ids, whole({2})}), (Doubles{-4, 3}));
}

TEST(OnnxOps, OldVersions) {
  Apply softmax("Softmax");  // everything from axis 1 on is one row
  softmax.opset = 11;
  EXPECT_EQ(softmax({zeros({1, 2, 2})}), Doubles(4, 0.25));
  EXPECT_EQ(Apply("Clip").real("max", 1)({counted({3})}), (Doubles{0, 1, 1}));
  EXPECT_EQ(Apply("Unsqueeze").with("axes", std::vector<int64_t>{0}).all({zeros({2})})[0].shape(),
            (Shape{1, 2}));
}

TEST(OnnxOps, Pools) {
  const Tensor x = counted({1, 1, 3, 3});
  const auto places = [&](int64_t order) {
    return Apply("MaxPool", 2).with("kernel_shape", {2, 2}).with("storage_order", order).all({x});
  };
  EXPECT_EQ(places(0)[0].to_vector<double>(), (Doubles{4, 5, 7, 8}));
  EXPECT_EQ(places(0)[1].to_vector<double>(), (Doubles{4, 5, 7, 8}));
  EXPECT_EQ(places(1)[1].to_vector<double>(), (Doubles{4, 7, 5, 8}));
  Apply line("AveragePool");  // the last window hangs over: two elements count
  line.with("kernel_shape", std::vector<int64_t>{3}).with("strides", std::vector<int64_t>{2});
  EXPECT_EQ(line.with("ceil_mode", 1)({counted({1, 1, 4})}), (Doubles{1, 2.5}));
  const auto cube = [](int64_t padding_counts) {
    return Apply("AveragePool")
        .with("kernel_shape", {2, 2, 2})
        .with("pads", {1, 1, 1, 1, 1, 1})
        .with("count_include_pad", padding_counts)({ones({1, 1, 2, 2, 2})});
  };
  EXPECT_EQ(cube(0), Doubles(27, 1));
  EXPECT_EQ(cube(1)[0], 0.125);
  EXPECT_EQ(cube(1)[13], 1);
}

TEST(OnnxOps, Convolutions) {
  const Tensor cube = counted({1, 1, 2, 2, 2}), box = ones({1, 1, 2, 2, 2});
  EXPECT_EQ(Apply("Conv")({cube, box}), Doubles{28});
  const Doubles around = Apply("Conv").with("pads", {1, 1, 1, 1, 1, 1})({cube, box});
  EXPECT_EQ((Doubles{around[0], around[13], around[26]}), (Doubles{0, 28, 7}));
  const Tensor two = real({1, 1, 2, 1, 1}, {1, 2}), filter = real({1, 1, 2, 1, 1}, {1, 10});
  EXPECT_EQ(Apply("ConvTranspose").with("strides", {2, 1, 1})({two, filter}),
            (Doubles{1, 10, 2, 20}));
  EXPECT_EQ(Apply("ConvTranspose")
                .with("strides", {2, 1, 1})
                .with("pads", {1, 0, 0, 0, 0, 0})({two, filter}),
            (Doubles{10, 2, 20}));
  Apply sized("ConvTranspose");  // one more than the filters reach
  sized.with("strides", std::vector<int64_t>{2}).with("output_shape", std::vector<int64_t>{7});
  EXPECT_EQ(sized({ones({1, 1, 3}), ones({1, 1, 2})}), (Doubles{1, 1, 1, 1, 1, 1, 0}));
  Apply same("ConvTranspose");  // 2 * 2 places of 5: one is taken off the end
  same.with("strides", std::vector<int64_t>{2}).with("auto_pad", "SAME_UPPER");
  EXPECT_EQ(same({ones({1, 1, 2}), real({1, 1, 3}, {1, 2, 3})}), (Doubles{1, 2, 4, 2}));
}

TEST(OnnxOps, Attention) {
  const Tensor q = real({1, 1, 2, 1}, {0, 0}), k = real({1, 1, 3, 1}, {1, 2, 3});
  const auto attend = [&](Tensor mask, Tensor lengths) {
    return Apply("Attention")({q, k, k, mask, {}, {}, lengths});
  };
  const Tensor mask = cast(real({2, 3}, {1, 1, 0, 0, 0, 0}), DType::boolean);
  EXPECT_EQ(attend(mask, {}), (Doubles{1.5, 0}));  // the second query sees no key
  EXPECT_EQ(attend({}, whole({2})), (Doubles{1.5, 1.5}));
  EXPECT_EQ(attend(mask, whole({1})), (Doubles{1, 0}));
  EXPECT_EQ(Apply("Attention").with("is_causal", 1)({q, k, k}), (Doubles{1, 1.5}));
  EXPECT_EQ(Apply("Attention").with("is_causal", 1)({q, k, k, {}, {}, {}, whole({3})}),
            (Doubles{1.5, 2}));
  const Tensor quarter = zeros({1, 1, 1}), sine = ones({1, 1, 1});
  EXPECT_EQ(Apply("RotaryEmbedding")
                .with("num_heads", 1)
                .with("interleaved", 1)({real({1, 1, 2}, {3, 4}), quarter, sine}),
            (Doubles{-4, 3}));
}

}  // namespace
}  // namespace plimsoll::onnx
