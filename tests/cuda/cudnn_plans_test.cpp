// Which algorithm cuDNN chooses for every convolution of the examples and for their attention, and
// with how much workspace: asked for an H100 that is only described (h100.json), on any machine,
// and compared with a table (cudnn_plans.txt). Skipped by name where there is no cuDNN. On the way
// every graph is built.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/cuda/vendor/attention.h"
#include "core/cuda/vendor/convolution.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

using cuda::Convolution;
using Kind = Convolution::Kind;

struct Layer {
  const char* name;
  int64_t image, in, out, taps, stride;
  bool bias;
};
constexpr Layer kLayers[] = {{"lenet conv1", 28, 1, 32, 5, 1, true},
                             {"lenet conv2", 14, 32, 64, 5, 1, true},
                             {"resnet8 stem", 32, 3, 16, 3, 1, false},
                             {"resnet8 block1", 32, 16, 16, 3, 1, false},
                             {"resnet8 block2 conv1", 32, 16, 32, 3, 2, false},
                             {"resnet8 block2 conv2", 16, 32, 32, 3, 1, false},
                             {"resnet8 block2 shortcut", 32, 16, 32, 1, 2, true},
                             {"resnet8 block3 conv1", 16, 32, 64, 3, 2, false},
                             {"resnet8 block3 conv2", 8, 64, 64, 3, 1, false},
                             {"resnet8 block3 shortcut", 16, 32, 64, 1, 2, true},
                             {"sepcnn pointwise1", 32, 3, 32, 1, 1, true},
                             {"sepcnn pointwise2", 16, 32, 64, 1, 1, true}};

Convolution convolution(const Layer& layer, Kind kind, DType dtype, bool tf32 = false) {
  const int64_t padding = layer.taps / 2;
  const int64_t out = (layer.image + 2 * padding - layer.taps) / layer.stride + 1;
  return {.kind = kind,
          .dtype = dtype,
          .n = 128,
          .h = layer.image,
          .w = layer.image,
          .c = layer.in,
          .o = layer.out,
          .kh = layer.taps,
          .kw = layer.taps,
          .p = out,
          .q = out,
          .stride = {layer.stride, layer.stride},
          .padding = {padding, padding},
          .bias = layer.bias && kind == Kind::forward,
          .tf32 = tf32};
}

std::string contents_of(const std::string& name) {
  std::ifstream file(std::string(PLIMSOLL_SOURCE_DIR "/tests/cuda/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string described(const std::optional<cuda::LibraryPlan>& plan) {
  return plan ? cat("engine ", plan->engine, ", ", plan->workspace, " bytes") : "none";
}

// q, k and v are slices of one tensor [B, T, 3 H, D].
std::string attention_table(const std::string& device) {
  std::string result;
  for (const auto& [heads, length, features] : {std::array<int64_t, 3>{4, 64, 32}, {12, 1024, 64}})
    for (const bool gradient : {false, true})
      for (const DType dtype : {DType::f16, DType::bf16}) {
        cuda::Attention a{.gradient = gradient,
                          .dtype = dtype,
                          .batch = 16,
                          .heads = heads,
                          .length = length,
                          .features = features};
        const auto [batch, row, head] = a.dense();
        a.q = a.k = a.v = {3 * batch, 3 * row, head};
        const auto plan = cuda::attention_plan_for(a, device);
        result += cat("attention ", heads, " x ", length, " x ", features,
                      gradient ? " gradient " : " forward ", dtype, ": ");
        result += described(plan) + "\n";
      }
  return result;
}

std::string table() {
  constexpr std::pair<Kind, const char*> kinds[] = {{Kind::forward, "forward"},
                                                    {Kind::input_grad, "input_grad"},
                                                    {Kind::weight_grad, "weight_grad"}};
  const std::string device = contents_of("h100.json");
  std::string result = cat("cuDNN ", cuda::cudnn_version(), "\n");
  for (const Layer& layer : kLayers)
    for (const auto& [kind, name] : kinds)
      for (const auto& [dtype, tf32] : {std::pair{DType::f32, false},
                                        {DType::f32, true},
                                        {DType::f16, false},
                                        {DType::bf16, false}}) {
        const auto plan = cuda::convolution_plan_for(convolution(layer, kind, dtype, tf32), device);
        result += cat(layer.name, " ", name, " ", dtype, tf32 ? " as TF32" : "", ": ");
        result += described(plan) + "\n";
      }
  return result + attention_table(device);
}

class CudnnPlans : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::convolution_plan_for) GTEST_SKIP() << "this build has no CUDA";
    try {
      cuda::cudnn_version();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(CudnnPlans, AreTheOnesOfTheTable) {
  const std::string actual = table(), expected = contents_of("cudnn_plans.txt");
  const auto version = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  if (actual != expected) std::ofstream("cudnn_plans.txt") << actual;  // the new table
  if (version(actual) != version(expected))
    GTEST_SKIP() << "the table is of " << version(expected) << ", this is " << version(actual);
  EXPECT_EQ(actual, expected) << "cudnn_plans.txt, in the folder of this run, has the new table";
}

TEST_F(CudnnPlans, ThereIsNoneForNoImages) {
  Convolution none = convolution(kLayers[0], Kind::forward, DType::f16);
  none.n = 0;
  EXPECT_FALSE(cuda::convolution_plan_for(none, contents_of("h100.json")));
  EXPECT_FALSE(cuda::attention_plan_for({.heads = 1, .length = 64, .features = 8},
                                        contents_of("h100.json")));
}

TEST_F(CudnnPlans, RefuseADeviceThatIsNoDescription) {
  const Convolution any = convolution(kLayers[0], Kind::forward, DType::f16);
  EXPECT_THROW(cuda::convolution_plan_for(any, "{"), DeviceError);
}

}  // namespace
}  // namespace plimsoll
