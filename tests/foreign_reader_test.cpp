// How the reader of PyTorch's cases finds an op by a case's name, and what a case does not say by
// trying: in small cases worked out by hand.
#include <gtest/gtest.h>

#include "tests/foreign_pytorch.h"

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

}  // namespace
}  // namespace plimsoll::golden
