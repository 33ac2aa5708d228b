// Which algorithm cuDNN chooses for every convolution of the examples, for their attention and for
// batch norms of their residual networks, and with how much workspace:
// asked for an H100 that is only described (h100.json), on any machine, and compared with a table
// (cudnn_plans.txt). Skipped by name where there is no cuDNN. On the way every graph is built. By
// several threads too, and as if candidates had been timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <sstream>

#include "core/cpu/parallel.h"
#include "core/cuda/attention.h"
#include "core/cuda/convolution.h"
#include "core/cuda/norm.h"
#include "tests/data_testing.h"

namespace plimsoll {
namespace {

using cuda::Convolution;
using data::Bytes, data::read_file, data::TemporaryFolder;
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
  std::ifstream file(std::string(PLIMSOLL_SOURCE_DIR "/tests/") + name);
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

// Each as it most often is: with relu, before a residual sum, or in a shortcut.
struct NormLayer {
  const char* name;
  int64_t images, size, channels;
  bool residual, relu;
};
constexpr NormLayer kNorms[] = {{"resnet8 stem", 128, 32, 16, false, true},
                                {"resnet8 block1", 128, 32, 16, true, true},
                                {"resnet8 block2", 128, 16, 32, true, true},
                                {"resnet8 block2 shortcut", 128, 16, 32, false, false},
                                {"resnet8 block3", 128, 8, 64, true, true},
                                {"resnet18-cifar stem", 512, 32, 64, false, true},
                                {"resnet18-cifar stage2", 512, 16, 128, true, true},
                                {"resnet18-cifar stage3", 512, 8, 256, true, true},
                                {"resnet18-cifar stage4", 512, 4, 512, true, true},
                                {"resnet50 stem", 256, 112, 64, false, true},
                                {"resnet50 stage1", 256, 56, 256, true, true},
                                {"resnet50 stage2", 256, 28, 512, true, true},
                                {"resnet50 stage3 inner", 256, 14, 256, false, true},
                                {"resnet50 stage4 shortcut", 256, 7, 2048, false, false}};

cuda::Norm norm(const NormLayer& layer, DType dtype) {
  return {.dtype = dtype,
          .rows = layer.images * layer.size * layer.size,
          .channels = layer.channels,
          .residual = layer.residual,
          .relu = layer.relu};
}

std::string norm_table(const std::string& device) {
  std::vector<std::string> lines;
  std::vector<cuda::Norm> norms;
  for (const NormLayer& layer : kNorms)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      lines.push_back(cat(layer.name, " norm", layer.residual ? " add" : "",
                          layer.relu ? " relu " : " ", dtype, ": "));
      norms.push_back(norm(layer, dtype));
    }
  parallel_for(std::ssize(norms), 1, [&](int64_t begin, int64_t end) {  // each is compiled
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      lines[i] += described(cuda::norm_plan_for(norms[i], device)) + "\n";
  });
  std::string result;
  for (const std::string& line : lines) result += line;
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
  return result + attention_table(device) + norm_table(device);
}

std::map<std::filesystem::path, Bytes> files_in(const TemporaryFolder& folder) {
  std::map<std::filesystem::path, Bytes> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    all[entry.path().filename()] = read_file(entry.path());
  return all;
}

class CudnnPlans : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PLIMSOLL_CUDA_PLANS", "none", 1);
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
  EXPECT_FALSE(cuda::norm_plan_for({.rows = 0, .channels = 64}, contents_of("h100.json")));
}

// So few channels, or not a multiple of 8: our own kernels do them.
TEST_F(CudnnPlans, NotAllNormsHaveOne) {
  for (const int64_t channels : {3, 12})
    EXPECT_FALSE(cuda::norm_plan_for({.rows = 4096, .channels = channels, .relu = true},
                                     contents_of("h100.json")));
}

// The next process takes the plan from its file; here the same one does, as plans for a device that
// is only described are not remembered.
TEST_F(CudnnPlans, AreKeptInAFileEach) {
  const TemporaryFolder folder;
  setenv("PLIMSOLL_CUDA_PLANS", folder.path().c_str(), 1);
  const std::string device = contents_of("h100.json");
  Convolution v = convolution(kLayers[3], Kind::forward, DType::f32);
  const auto ask = [&] {
    const auto plan = cuda::convolution_plan_for(v, device);
    EXPECT_TRUE(plan);
    return plan ? std::pair(plan->engine, plan->workspace) : std::pair<int64_t, int64_t>();
  };
  const auto made = ask();
  const auto kept = files_in(folder);
  ASSERT_EQ(kept.size(), size_t{1});
  const auto& [name, bytes] = *kept.begin();
  const auto age = std::filesystem::last_write_time(folder / name);
  EXPECT_EQ(ask(), made);
  EXPECT_EQ(std::filesystem::last_write_time(folder / name), age);  // it was not made again

  Bytes damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  folder.write(name, damaged);
  EXPECT_EQ(ask(), made);
  EXPECT_EQ(files_in(folder), kept);

  v.tf32 = true;  // another question
  ask();
  v.stride = {2, 2}, v.p = v.q = 16;
  ask();
  EXPECT_EQ(files_in(folder).size(), size_t{3});
}

// Those of resnet8 in f16 and of attention, which is compiled: the same plans and files as one
// thread makes, one after another.
TEST_F(CudnnPlans, OfSeveralThreadsAreThoseOfOne) {
  const std::string device = contents_of("h100.json");
  std::vector<std::function<std::optional<cuda::LibraryPlan>()>> questions;
  for (const Layer& layer : std::span(kLayers).subspan(2, 8))
    for (const Kind kind : {Kind::forward, Kind::input_grad, Kind::weight_grad})
      questions.emplace_back([v = convolution(layer, kind, DType::f16), &device] {
        return cuda::convolution_plan_for(v, device);
      });
  for (const int64_t length : {64, 128})
    for (const bool gradient : {false, true}) {
      cuda::Attention a{
          .gradient = gradient, .batch = 2, .heads = 2, .length = length, .features = 64};
      a.q = a.k = a.v = a.dense();
      questions.emplace_back([a, &device] { return cuda::attention_plan_for(a, device); });
    }
  const int before = num_threads();
  std::map<std::filesystem::path, Bytes> kept;
  std::vector<std::string> plans;
  for (const int threads : {1, 4}) {
    const TemporaryFolder folder;
    setenv("PLIMSOLL_CUDA_PLANS", folder.path().c_str(), 1);
    set_num_threads(threads);
    std::vector<std::string> found(questions.size());
    parallel_for(std::ssize(questions), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        found[static_cast<size_t>(i)] = described(questions[static_cast<size_t>(i)]());
    });
    set_num_threads(before);
    EXPECT_EQ(std::ranges::count(found, "none"), 0);
    if (threads == 1) {
      plans = found;
      kept = files_in(folder);
      EXPECT_GE(kept.size(), size_t{24});
    } else {
      EXPECT_EQ(found, plans);
      EXPECT_EQ(files_in(folder), kept);
    }
  }
}

// A clock that says what it is told takes the place of the one of a GPU.
TEST_F(CudnnPlans, TheFastestIsKeptApartFromTheFirst) {
  const TemporaryFolder folder;
  setenv("PLIMSOLL_CUDA_PLANS", folder.path().c_str(), 1);
  const std::string device = contents_of("h100.json");
  const Convolution v = convolution(kLayers[3], Kind::weight_grad, DType::f16);
  std::vector<cuda::LibraryPlan> proposed;
  int asked = 0;
  const auto with_winner = [&](size_t winner) {
    return described(cuda::convolution_plan_for(
        v, device, [&, winner](std::span<const cuda::LibraryPlan> candidates) {
          ++asked;
          proposed.assign(candidates.begin(), candidates.end());
          cuda::Times times(candidates.size(), {2, 2, 2});
          if (winner < times.size()) times[winner] = {1, 1, 1};
          return times;
        }));
  };
  const auto of_the_heuristic = [&] { return described(cuda::convolution_plan_for(v, device)); };
  const std::string first = of_the_heuristic();
  const std::string fastest = with_winner(2);
  ASSERT_GE(proposed.size(), size_t{3});
  EXPECT_LE(proposed.size(), cuda::kMostCandidates);
  EXPECT_EQ(first, described(proposed[0]));
  EXPECT_EQ(fastest, described(proposed[2]));
  EXPECT_NE(fastest, first);
  for (const cuda::LibraryPlan& plan : proposed) EXPECT_LE(plan.workspace, cuda::kMostScratch);
  EXPECT_EQ(files_in(folder).size(), size_t{2});

  EXPECT_EQ(with_winner(1), fastest);  // found again: nothing is timed
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(of_the_heuristic(), first);

  for (auto [name, bytes] : files_in(folder)) {
    bytes[bytes.size() / 2] ^= 1;
    folder.write(name, bytes);
  }
  EXPECT_EQ(of_the_heuristic(), first);
  EXPECT_EQ(with_winner(1), described(proposed[1]));  // damaged: timed again
  EXPECT_EQ(asked, 2);
}

TEST_F(CudnnPlans, TheFastestOfAttentionIsTaken) {
  const std::string device = contents_of("h100.json");
  for (const bool gradient : {false, true}) {
    cuda::Attention a{.gradient = gradient, .batch = 2, .heads = 2, .length = 128, .features = 64};
    a.q = a.k = a.v = a.dense();
    std::vector<cuda::LibraryPlan> proposed;
    const std::string first = described(cuda::attention_plan_for(a, device));
    const auto another_wins = [&](std::span<const cuda::LibraryPlan> candidates) {
      proposed.assign(candidates.begin(), candidates.end());
      cuda::Times times(candidates.size(), {2, 2, 2});
      for (size_t i = times.size(); i-- > 0;)
        if (described(candidates[i]) != first) return times[i] = {1, 1, 1}, times;
      return times;
    };
    const std::string fastest = described(cuda::attention_plan_for(a, device, another_wins));
    EXPECT_EQ(first, described(proposed.at(0)));
    EXPECT_NE(fastest, first);
    for (const cuda::LibraryPlan& plan : proposed)
      EXPECT_LE(plan.workspace, cuda::kMostAttentionScratch);
  }
}

// Where there is no memory to time in the first is taken, and nothing is kept.
TEST_F(CudnnPlans, WhatCouldNotBeTimedIsTimedNextTime) {
  const TemporaryFolder folder;
  setenv("PLIMSOLL_CUDA_PLANS", folder.path().c_str(), 1);
  const std::string device = contents_of("h100.json");
  const Convolution v = convolution(kLayers[3], Kind::forward, DType::f16);
  int asked = 0;
  const auto none = [&](std::span<const cuda::LibraryPlan> candidates) {
    ++asked;
    return cuda::Times(candidates.size());
  };
  const std::string first = described(cuda::convolution_plan_for(v, device));
  const auto kept = files_in(folder);
  EXPECT_EQ(described(cuda::convolution_plan_for(v, device, none)), first);
  EXPECT_EQ(described(cuda::convolution_plan_for(v, device, none)), first);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(files_in(folder), kept);
}

TEST_F(CudnnPlans, RefuseADeviceThatIsNoDescription) {
  const Convolution any = convolution(kLayers[0], Kind::forward, DType::f16);
  EXPECT_THROW(cuda::convolution_plan_for(any, "{"), DeviceError);
}

}  // namespace
}  // namespace plimsoll
