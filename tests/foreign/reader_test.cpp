// How the reader of PyTorch's cases finds an op by a case's name, and what a case does not say by
// trying: in small cases worked out by hand.
#include <gtest/gtest.h>

#include "tests/foreign/comparison.h"

namespace plimsoll::golden {
namespace {

TEST(ForeignReader, TriesAllCombinationsInOrder) {
  Choices choices;
  std::vector<std::pair<size_t, size_t>> seen;
  do {
    const size_t first = choices.take(2);
    seen.push_back({first, first == 0 ? choices.take(3) : 9});  // only the first asks for more
  } while (choices.next());
  const std::vector<std::pair<size_t, size_t>> expected{{0, 0}, {0, 1}, {0, 2}, {1, 9}};
  EXPECT_EQ(seen, expected);
}

TEST(ForeignReader, SkipsWhatFollowsARefusal) {
  Choices choices;
  int runs = 0;
  do {
    ++runs;
    if (choices.take(2) == 0) continue;  // refused before the second question
    choices.take(2);
  } while (choices.next());
  EXPECT_EQ(runs, 3);
}

TEST(ForeignReader, FindsTheOpInTheName) {
  const auto same = [](const char* name, const char* op) {
    return find_run(name) && find_run(name) == find_run(op);
  };
  EXPECT_TRUE(same("act_relu", "relu"));
  EXPECT_TRUE(same("conv2d_k_eq_input", "conv2d"));   // not "eq"
  EXPECT_TRUE(same("gelu_tanh_large", "gelu_tanh"));  // not "gelu"
  EXPECT_TRUE(same("layernorm_eps", "layer_norm"));
  EXPECT_TRUE(same("depthwise_conv2d", "conv2d"));
  EXPECT_TRUE(same("pow3", "pow"));
  EXPECT_FALSE(same("log_softmax", "softmax"));
  EXPECT_EQ(find_run("determinant"), nullptr);
}

TEST(ForeignReader, ReadsPythonsNumbers) {
  const Json json = parse_python(R"({"p": -Infinity, "NaN": [NaN, 1], "q": "a \"NaN\""})");
  EXPECT_EQ(json.at("p"), "-Infinity");
  EXPECT_EQ(json.at("NaN").at(0), "NaN");
  EXPECT_EQ(json.at("q"), "a \"NaN\"");
  Choices choices;
  Read read;
  Attributes attrs(json, choices, read);
  EXPECT_EQ(attrs.number("ord|p", {}), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(read.contains("p"));
  EXPECT_EQ(attrs.number("eps", {1e-5, 1e-6}), 1e-5);
  ASSERT_TRUE(choices.next());
  EXPECT_EQ(attrs.number("eps", {1e-5, 1e-6}), 1e-6);
  EXPECT_FALSE(choices.next());
}

// The attribute is the one for which the result comes out.
TEST(ForeignReader, FindsTheAxisByTheResult) {
  const Tensors inputs{{"x", Tensor::of<double>({1, 2, 3, 4}, {2, 2})}};
  const std::vector<Tensor> results{Tensor::of<double>({1, 2, 4, 6}, {2, 2})};
  const Json none = Json::object();
  Choices choices;
  Read read;
  int runs = 0;
  Tensor y;
  do {
    Case c(inputs, none, results, choices, read);
    y = (*find_run("cumsum"))(c).at(0);
    ++runs;
  } while (y.to_vector<double>() != results[0].to_vector<double>() && choices.next());
  EXPECT_EQ(y.to_vector<double>(), results[0].to_vector<double>());
  EXPECT_GT(runs, 1);  // the last axis is tried first
  EXPECT_TRUE(read.contains("in.x"));
}

// x = 2, y = x x, dy/dx = 4.
Tensor value(double x) { return full({1}, x, {.dtype = DType::f64}); }
Tensors a_case() {
  return {{"in.x", value(2)}, {"out.0", value(4)}, {"gout.0", value(1)}, {"grad.x", value(4)}};
}
std::string squared(const Tensors& file, const Json& attrs = Json::object()) {
  const Json entry{{"name", "square"}, {"attrs", attrs}};
  return Comparison(entry, file).wrong([](Case& c) {
    c.known("power");
    return one(c["x"] * c["x"]);
  });
}

TEST(ForeignReader, AWrongNumberFails) {
  EXPECT_EQ(squared(a_case()), "");
  for (const char* name : {"out.0", "gout.0", "grad.x"}) {
    Tensors file = a_case();
    file[name] = value(3);
    EXPECT_NE(squared(file), "") << name;
  }
  Tensors file = a_case();
  file["out.0"] = full({1, 1}, 4, {.dtype = DType::f64});
  EXPECT_NE(squared(file), "");
}

TEST(ForeignReader, WhatIsComparedWithNothingDoesNotPass) {
  for (const char* missing : {"out.0", "gout.0"}) {
    Tensors file = a_case();
    file.erase(missing);
    EXPECT_THROW(squared(file), Unsupported) << missing;
  }
  for (const char* surplus : {"out.2", "gout.1", "grad.z"}) {
    Tensors file = a_case();
    file[surplus] = value(1);
    EXPECT_THROW(squared(file), Unsupported) << surplus;
  }
}

TEST(ForeignReader, AWrongCaseIsSkippedOnlyForWhatNobodyRead) {
  Tensors file = a_case();
  file["out.0"] = value(8);
  EXPECT_NE(squared(file, {{"power", 3}}), "");
  EXPECT_THROW(squared(file, {{"exponent", 3}}), Unsupported);
  EXPECT_EQ(squared(a_case(), {{"exponent", 2}}), "");
}

}  // namespace
}  // namespace plimsoll::golden
