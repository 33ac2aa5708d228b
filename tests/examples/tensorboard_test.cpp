// --tensorboard and --histograms: what TensorBoard's own reader finds, and that drawing changes no
// bit.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "autograd/gradients.h"
#include "ops/ops.h"
#include "optim/sgd.h"
#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/support/python.h"
#include "train/runner.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using train::Runner;

// The lines of read_events.py that begin with `kind`: step and the rest, of each tag.
std::map<std::string, std::vector<std::pair<int64_t, std::string>>> read_events(
    const std::string& folder, const std::string& kind) {
  const Outcome outcome = python::run("support/read_events.py", {folder});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  std::map<std::string, std::vector<std::pair<int64_t, std::string>>> events;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, tag, rest;
    int64_t step = 0;
    if (words >> first >> tag >> step && first == kind) {
      std::getline(words, rest);
      events[tag].emplace_back(step, rest);
    }
  }
  return events;
}

class ExamplesTensorBoard : public testing::Test {
 protected:
  nlohmann::json report(const std::string& command) const {
    const Outcome outcome = run(command + " --json " + dir.text("report"));
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return nlohmann::json::parse(data::read_text(dir / "report"));
  }
  std::string text() const {
    return " --data text:" + dir.write("text", small_text()).string() + " ";
  }
  TemporaryFolder dir;
};

TEST_F(ExamplesTensorBoard, HistogramsAreOfEveryGradientAndChangeNoBit) {
  NEEDS_PYTHON("tensorboard");
  const std::string gpt =
      "train_transformer --layers 1 --width 16 --heads 2 --context 8 --batch 2 --steps 6 "
      "--eval-every 3 --accumulate 2 --precision f16 --cost model --plan-seconds 0.1" +
      text();
  write_small_images(dir);
  const std::string cnn =
      "train_cnn --model lenet --batch 50 --epochs 1 --data mnist:" + dir.path().string();
  for (const auto& [train, rows, steps] :
       {std::tuple(gpt, "steps", std::vector<int64_t>{4, 8, 12}), {cnn, "epochs", {2, 4}}}) {
    SCOPED_TRACE(train);
    const auto plain = report(train);
    std::map<std::string, std::vector<std::pair<int64_t, std::string>>> first;
    const int64_t peak = plain["final"]["peak_bytes"];
    const std::string budget = "captured --budget " + std::to_string(3 * peak);
    for (const std::string& mode : {std::string("eager"), std::string("captured"), budget}) {
      const std::string folder = dir.text(rows + mode.substr(0, 8) + std::to_string(mode.size()));
      const auto drawn =
          report(train + " --mode " + mode + " --histograms 2 --tensorboard " + folder);
      EXPECT_EQ(drawn[rows], plain[rows]);
      if (mode != "eager") {
        EXPECT_EQ(drawn["final"]["peak_bytes"], drawn["final"]["planned_bytes"]);
      }
      const auto histograms = read_events(folder, "histogram");
      EXPECT_EQ(histograms.size() % 2, 0U);
      EXPECT_GT(histograms.size(), 15U);
      for (const auto& [tag, slices] : histograms) {
        std::vector<int64_t> at;
        for (const auto& [step, figures] : slices) at.push_back(step);
        EXPECT_EQ(at, steps) << tag;
        const bool gradient = tag.starts_with("gradients/");
        EXPECT_TRUE(gradient || tag.starts_with("parameters/")) << tag;
        const std::string name = tag.substr(tag.find('/'));
        const auto other = histograms.find((gradient ? "parameters" : "gradients") + name);
        ASSERT_NE(other, histograms.end()) << tag;
        EXPECT_NE(slices, other->second) << tag;
      }
      if (first.empty()) first = histograms;
      EXPECT_TRUE(histograms == first) << mode << ": other values";  // to the last digit
    }
  }
}

// The gradients are those that the update is made with: what SGD takes off, over the rate.
TEST(Runner, ReturnsTheGradientsOfTheUpdate) {
  for (const bool captured : {false, true}) {
    const Tensor weight = Tensor::of<float>({0.5f, -1, 2}, {3}).require_grad();
    optim::SGD optimizer({weight}, {.learning_rate = 0.25});
    optim::Accumulation window(std::array{weight}, 2);
    const auto step = [&](bool return_gradients) -> StepFunction {
      return [&, return_gradients](std::span<const Tensor> in) {
        const Tensor loss = mean(mul(mul(weight, weight), in[0]));
        std::vector results{loss};
        const auto sums =
            window.add(gradients(loss, std::array{weight}), full({}, 3, {DType::f64}));
        if (!sums.empty()) {
          optimizer.update(sums);
          if (return_gradients) results.insert(results.end(), sums.begin(), sums.end());
        }
        return results;
      };
    };
    Runner runner(step(false), captured, {}, &window, {}, step(true));
    const Tensor x = Tensor::of<float>({1, 2, 3}, {3});
    for (int64_t number = 0; number < 8; ++number) {
      const std::vector<float> before = weight.to_vector<float>();
      window.at(number % 2, 2);
      const auto [loss, grads] = runner.train(number, {x}, /*with_gradients=*/number > 3);
      ASSERT_EQ(grads.size(), number == 5 || number == 7 ? 1U : 0U) << number;
      for (size_t i = 0; !grads.empty() && i < 3; ++i)
        EXPECT_FLOAT_EQ(grads[0].to_vector<float>()[i] * 0.25f,
                        before[i] - weight.to_vector<float>()[i]);
    }
  }
}

// A process that was killed has drawn more than it saved; the next one draws that again, and only
// what it draws is shown.
TEST_F(ExamplesTensorBoard, CurvesGoOnWhereTheStateIs) {
  NEEDS_PYTHON("tensorboard");
  const std::string common = " --run " + dir.text("run") + " --tensorboard " + dir.text("board");
  const std::string train =
      "train_transformer --layers 1 --width 16 --heads 2 --context 8 --batch 2 --steps 8 "
      "--eval-every 8 --save-every 5 --keep 9" +
      text() + common;
  ASSERT_EQ(run(train).code, 0);
  const auto before = read_events(dir.text("board"), "scalar")["train/loss"];
  for (const char* lost : {"step-000000008.safetensors", "step-000000008-best.safetensors"})
    std::filesystem::remove(dir / "run" / "saves" / lost);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // a name has the time in seconds
  ASSERT_EQ(run("train_transformer --resume --lr 0.1" + common).code, 0);
  const auto after = read_events(dir.text("board"), "scalar")["train/loss"];
  ASSERT_EQ(before.size(), 8U);
  ASSERT_EQ(after.size(), 8U);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(after[i].first, int64_t(i) + 1);
    const auto value = [i](const auto& curve) {
      return curve[i].second.substr(0, curve[i].second.find(' ', 1));
    };
    // The sixth batch is judged before the other rate counts.
    EXPECT_EQ(value(after) == value(before), i < 6) << i;
  }
}

TEST(ExamplesHistograms, NeedAFolder) {
  const Outcome outcome = run("train_cnn --histograms 10");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.output.find("histograms: they go into event files, and there are none: 10. "
                                "Name a folder for tensorboard.\n"),
            std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace plimsoll::examples
