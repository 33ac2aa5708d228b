// The program of docs/using.md, on the figures that it draws: it learns, and what it saved is what
// it trained.
#include "data/loader.h"
#include "data/source.h"
#include "formats/safetensors.h"
#include "nn/nn.h"
#include "nn/torch_layout.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

double accuracy(const nn::Module& model) {
  const auto images = data::load_images("builtin");
  data::Loader loader(images.test, {.batch = 1000});
  int64_t right = 0, all = 0;
  loader.start(0);
  while (const auto batch = loader.next()) {
    const auto guesses = argmax(model(batch->x), -1).to_vector<int64_t>();
    const auto labels = batch->y.to_vector<int64_t>();
    for (size_t i = 0; i < labels.size(); ++i) right += guesses[i] == labels[i];
    all += std::ssize(labels);
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

TEST(ExamplesMnist, LearnsAndSavesWhatItLearned) {
  const data::TemporaryFolder dir;
  const Outcome outcome = run("mnist", "cd " + dir.text("") + " && ");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const size_t last = outcome.output.rfind("accuracy ");
  ASSERT_NE(last, std::string::npos) << outcome.output;
  const double reached = std::stod(outcome.output.substr(last + 9));
  EXPECT_GT(reached, 0.93) << outcome.output;

  const auto saved = formats::read_safetensors(dir / "mnist.safetensors");
  ASSERT_EQ(saved.size(), 8U);
  EXPECT_EQ(formats::Safetensors(dir / "mnist.safetensors").meta("3.weight").shape,
            (Shape{20, 10, 5, 5}));  // [O, I, KH, KW], as PyTorch has it
  nn::Initializer init{.seed = 7};
  nn::Sequential model;
  model.then<nn::Conv2d>(1, 10, 5, init).then<nn::MaxPool2d>().then<nn::ReLU>();
  model.then<nn::Conv2d>(10, 20, 5, init).then<nn::MaxPool2d>().then<nn::ReLU>();
  model.then<nn::Flatten>().then<nn::Linear>(320, 50, init).then<nn::ReLU>();
  model.then<nn::Dropout>(0.5, init).then<nn::Linear>(50, 10, init);
  EXPECT_LT(accuracy(model), 0.5);
  nn::load_torch_state(model, saved, {.flattened = {{"7", {4, 4, 20}}}});
  EXPECT_NEAR(accuracy(model), reached, 5.1e-5);  // four digits are printed
}

}  // namespace
}  // namespace plimsoll::examples
