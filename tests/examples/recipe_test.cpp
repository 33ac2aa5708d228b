// The recipe of a training on the command line, and --evaluate: what they do to weights and files.
#include "examples/common/recipe.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/nn.h"
#include "optim/schedule.h"
#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;
using Json = nlohmann::json;

Options options_for(const std::string& schedule, int64_t warmup) {
  Options options;
  options.epochs = 2;
  options.learning_rate = 0.5;
  options.schedule_name = schedule;
  options.warmup = warmup;
  return options;
}

TEST(Recipe, SchedulesRiseAndFall) {
  const optim::Schedule linear = schedule_of(options_for("linear", 4), 24);
  EXPECT_EQ(linear(0), 0);
  EXPECT_EQ(linear(4), 0.5);
  EXPECT_EQ(linear(14), 0.25);
  EXPECT_EQ(linear(24), 0);
  const optim::Schedule constant = schedule_of(options_for("constant", 0), 24);
  EXPECT_EQ(constant(0), 0.5);
  EXPECT_EQ(constant(23), 0.5);
  // A tenth of the first epoch.
  const optim::Schedule cosine = schedule_of(options_for("cosine", -1), 40);
  const optim::Schedule expected = optim::warmup_cosine(0.5, 0.05, 2, 40);
  for (int64_t update = 0; update < 40; ++update) EXPECT_EQ(cosine(update), expected(update));
  expect_error<UsageError>([&] { schedule_of(options_for("linear", 24), 24); },
                           "--warmup: the training has 24 updates: 24. Give fewer.");
}

TEST(Recipe, GainsAndBiasesDoNotDecay) {
  nn::Initializer init{.seed = 1};
  for (const char* name : {"adam", "adamw", "sgd", "rmsprop", "adamw8bit", "sgd8bit", "muon"}) {
    nn::Sequential model;
    model.then<nn::Linear>(3, 2, init);
    Options options = options_for("constant", 0);
    options.optimizer = name;
    options.weight_decay = 0.1;
    const Recipe recipe(model, options);
    optim::ParameterGroups optimizer = recipe.optimizer();
    optimizer.set_learning_rate(0.5);
    const std::vector<Tensor> parameters = model.parameters();
    const float bias = parameters[1].to_vector<float>()[0];
    const std::vector<float> weights = parameters[0].to_vector<float>();
    optimizer.update(std::array{zeros(parameters[0].shape()), zeros(parameters[1].shape())});
    EXPECT_EQ(parameters[1].to_vector<float>()[0], bias) << name;
    EXPECT_NE(parameters[0].to_vector<float>(), weights) << name;
  }
}

class ExamplesRecipe : public testing::Test {
 protected:
  ExamplesRecipe() { write_small_images(dir); }
  std::string cnn(const std::string& options) const {
    return "train_cnn --data mnist:" + dir.path().string() + " --batch 16 --epochs 1 " + options;
  }
  Json figures(const std::string& options) const {
    const Outcome outcome = run(cnn(options + " --json " + dir.text("json")));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return Json::parse(data::read_text(dir / "json"));
  }
  const TemporaryFolder dir;
};

TEST_F(ExamplesRecipe, EachOptimizerTrainsInItsOwnWay) {
  std::set<double> losses;
  for (const char* recipe : {"", "--optimizer adamw --weight-decay 0.1", "--optimizer sgd",
                             "--optimizer rmsprop", "--schedule linear", "--warmup 3"})
    losses.insert(figures(recipe)["epochs"][0]["val_loss"].get<double>());
  EXPECT_EQ(losses.size(), 6U);
}

TEST_F(ExamplesRecipe, AnotherOptimizerDoesNotGoOn) {
  const std::string run_folder = " --run " + dir.text("run");
  EXPECT_EQ(run(cnn("--stop-after 3" + run_folder)).code, 0);
  const Outcome other = run(cnn("--optimizer sgd --resume" + run_folder));
  EXPECT_EQ(other.code, 2) << other.output;
  EXPECT_NE(other.output.find("was saved with optimizer adam, not with sgd"), std::string::npos)
      << other.output;
  const Outcome decay = run(cnn("--weight-decay 0.01 --resume" + run_folder));
  EXPECT_NE(decay.output.find("weight-decay 0.01 from here on; it was 0"), std::string::npos)
      << decay.output;
}

TEST_F(ExamplesRecipe, EvaluatesWhatWasTrainedAndWritesNothing) {
  const std::string run_folder = " --run " + dir.text("run");
  const Json trained = figures(run_folder + " --tensorboard " + dir.text("board"));
  const fs::path folder = dir / "run";
  const auto before = data::names_in(folder / "saves"), events = data::names_in(dir / "board");
  const std::string log = data::read_text(folder / "log.csv");
  const Json evaluated =
      figures("--evaluate --export " + dir.text("weights.safetensors") + run_folder);
  EXPECT_EQ(evaluated["epochs"].back()["val_loss"], trained["epochs"].back()["val_loss"]);
  EXPECT_EQ(evaluated["epochs"].back()["accuracy"], trained["epochs"].back()["accuracy"]);
  EXPECT_EQ(data::names_in(folder / "saves"), before);
  EXPECT_EQ(data::names_in(dir / "board"), events);
  EXPECT_EQ(data::read_text(folder / "log.csv"), log);
  EXPECT_TRUE(fs::exists(dir / "weights.safetensors"));
  const Outcome nothing = run(cnn("--evaluate"));
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.output,
            "--evaluate: it names no run, and there is no --run. Name its folder.\n");
}

TEST_F(ExamplesRecipe, ARunThatLostItsSavesIsNotBegunAnew) {
  const std::string run_folder = " --run " + dir.text("run");
  EXPECT_EQ(run(cnn(run_folder)).code, 0);
  const std::string log = data::read_text(dir / "run/log.csv");
  fs::remove_all(dir / "run/saves");
  const Outcome outcome = run(cnn("--resume" + run_folder));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("the saves of this run are gone"), std::string::npos)
      << outcome.output;
  EXPECT_EQ(data::read_text(dir / "run/log.csv"), log);
}

}  // namespace
}  // namespace plimsoll::examples
