// The published models: their sizes, their first weights, their files, and training them.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "examples/common/synthetic.h"
#include "examples/models/cnn_models.h"
#include "examples/models/transformer_models.h"
#include "examples/models/weights.h"
#include "formats/safetensors.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"
#include "tests/nn/testing.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using nlohmann::json;
using nn::Initializer;

// Shapes only: nothing is drawn.
Initializer without_bytes() { return {.placement = {.device = Device::null}}; }

TEST(Published, ModelsHaveTheirNumbersOfParameters) {
  Initializer init = without_bytes();
  EXPECT_EQ(make_gpt(kGpt2, false, init)->parameter_count(), 124439808);
  EXPECT_EQ(make_cnn("resnet50", own_images("resnet50"), false, init)->parameter_count(), 25557032);
  EXPECT_EQ(
      make_cnn("resnet18-cifar", own_images("resnet18-cifar"), false, init)->parameter_count(),
      11173962);
}

double deviation(const Tensor& tensor) {
  double squares = 0;
  for (const double x : nn::values(tensor)) squares += x * x;
  return std::sqrt(squares / static_cast<double>(tensor.count()));
}

TEST(Published, FirstWeightsAreThoseOfThePapers) {
  Initializer init{.seed = 1};
  const auto gpt = make_gpt({.vocabulary = 500, .layers = 2, .bias = true}, false, init);
  const auto net = make_cnn("resnet18-cifar", own_images("resnet18-cifar"), false, init);
  int matrices = 0, filters = 0;
  for (const auto& [name, tensor] : gpt->named_parameters()) {
    if (name.ends_with(".bias") || name.ends_with(".beta")) {
      EXPECT_EQ(deviation(tensor), 0) << name;
    }
    if (tensor.rank() < 2) continue;
    const bool residual = name.ends_with("output.weight") || name.ends_with("contract.weight");
    EXPECT_NEAR(deviation(tensor), residual ? 0.01 : 0.02, 0.0006) << name;  // 0.02 / sqrt(2 * 2)
    ++matrices;
  }
  EXPECT_EQ(matrices, 2 + 2 * 4);
  for (const auto& [name, tensor] : net->named_parameters()) {
    if (tensor.rank() != 4) continue;
    const double fan_out = static_cast<double>(tensor.count() / tensor.size(3));
    EXPECT_NEAR(deviation(tensor) / std::sqrt(2 / fan_out), 1, 0.07) << name;
    ++filters;
  }
  EXPECT_EQ(filters, 17 + 3);
}

TEST(Published, SyntheticBatchesAreThoseOfTheirSeed) {
  const data::Batch a = synthetic_tokens(50, 4, 30, 1, Device::cpu);
  const data::Batch b = synthetic_tokens(50, 4, 30, 1, Device::cpu);
  EXPECT_EQ(a.x.to_vector<int64_t>(), b.x.to_vector<int64_t>());
  EXPECT_NE(a.x.to_vector<int64_t>(),
            synthetic_tokens(50, 4, 30, 2, Device::cpu).x.to_vector<int64_t>());
  const auto x = a.x.to_vector<int64_t>(), y = a.y.to_vector<int64_t>();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(0 <= x[i] && x[i] < 50) << x[i];
    if ((i + 1) % 30 != 0) {
      EXPECT_EQ(y[i], x[i + 1]);
    }
  }
  EXPECT_EQ(std::set(x.begin(), x.end()).size(), 44U);  // of 50, in 120 draws

  const data::Batch images = synthetic_images({8, 9, 3, 5}, 64, 1, Device::cpu);
  EXPECT_EQ(images.x.shape(), (Shape{64, 8, 9, 3}));
  EXPECT_NEAR(deviation(images.x), 1, 0.02);
  const auto labels = images.y.to_vector<int64_t>();
  EXPECT_EQ(std::set(labels.begin(), labels.end()), (std::set<int64_t>{0, 1, 2, 3, 4}));
}

constexpr GptSize kSmall{.vocabulary = 31,
                         .context = 16,
                         .layers = 2,
                         .heads = 2,
                         .width = 8,
                         .bias = true,
                         .activation = nn::Activation::gelu_tanh};

TEST(Published, Gpt2ReadsHuggingFacesFiles) {
  const TemporaryFolder dir;
  Initializer init{.seed = 1}, other{.seed = 2};
  const auto model = make_gpt(kSmall, false, init), loaded = make_gpt(kSmall, false, other);
  Options options;
  options.weights = dir.text("prefixed");
  options.exported = dir.text("bare");
  Weights(options, gpt2_torch_layout()).write(*model);
  std::vector<NamedTensor> state = formats::read_safetensors(dir / "bare");
  EXPECT_EQ(state.size(), 2U + 2 * 12 + 2);
  std::set<std::string> names;
  for (NamedTensor& own : state) names.insert(own.name);
  for (const char* name : {"wte.weight", "wpe.weight", "h.1.ln_1.bias", "h.0.attn.c_attn.weight",
                           "h.0.attn.c_proj.bias", "h.1.mlp.c_fc.weight", "ln_f.weight"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(formats::Safetensors(dir / "bare").meta("h.0.attn.c_attn.weight").shape,
            (Shape{8, 24}));

  // As other versions write them.
  for (NamedTensor& own : state) own.name = "transformer." + own.name;
  state.push_back({"transformer.h.0.attn.bias", zeros({1, 1, 16, 16})});
  state.push_back({"transformer.h.1.attn.masked_bias", zeros({})});
  formats::write_safetensors(dir / "prefixed", state);
  Weights(options, gpt2_torch_layout()).read(*loaded);
  const Tensor ids = synthetic_tokens(31, 2, 16, 1, Device::cpu).x;
  EXPECT_EQ(nn::values((*loaded)(ids)), nn::values((*model)(ids)));

  state.push_back({"lm_head.weight", zeros({31, 8})});
  formats::write_safetensors(dir / "prefixed", state);
  EXPECT_EQ(error_of<DataError>([&] { Weights(options, gpt2_torch_layout()).read(*loaded); }),
            "--weights " + options.weights +
                ": load_torch_state: 1 tensors do not belong to the model: \"lm_head.weight\". "
                "Load the state of the same model.");
}

// The report of a training program.
json trained(const std::string& command, const TemporaryFolder& dir,
             std::string* output = nullptr) {
  const Outcome outcome = run(command + " --json " + dir.text("run.json"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  if (output) *output = outcome.output;
  return outcome.code == 0 ? json::parse(std::ifstream(dir / "run.json")) : json();
}

void expect_as_planned(const json& run) {
  EXPECT_GT(run["final"]["peak_bytes"], 0);
  EXPECT_EQ(run["final"]["peak_bytes"], run["final"]["planned_bytes"]);
  EXPECT_EQ(run["final"]["evaluation_peak_bytes"], run["final"]["evaluation_planned_bytes"]);
}

TEST(Published, ANetTrainsOnASyntheticBatchWithinItsPlan) {
  const TemporaryFolder dir;
  std::string output;
  const json run =
      trained("train_cnn --model resnet8 --data synthetic --image-size 8 --batch 4 --epochs 1", dir,
              &output);
  EXPECT_NE(
      output.find("resnet8, 77946 parameters, one synthetic batch, [4, 8, 8, 3], in every step"),
      std::string::npos)
      << output;
  expect_as_planned(run);
  EXPECT_LT(run["final"]["val_loss"], 0.5);  // it has learnt the batch; chance is log(10)
}

TEST(Published, TrainingGoesOnWithWrittenWeights) {
  const TemporaryFolder dir;
  for (const std::string model : {"gpt --width 16 --heads 2 --layers 1", "textcls"}) {
    const std::string command =
        "train_transformer --data synthetic --batch 1 --context 16 --model " + model;
    expect_as_planned(trained(command + " --steps 3 --export " + dir.text("a"), dir));
    expect_as_planned(trained(command + " --steps 1 --lr 1e-30 --seed 2 --weights " +
                                  dir.text("a") + " --export " + dir.text("b"),
                              dir));
    EXPECT_EQ(data::read_text(dir / "a"), data::read_text(dir / "b"));  // nothing was learnt
  }
  const Outcome wrong = run(
      "train_transformer --model gpt --layers 2 --width 16 --heads 2 --data synthetic --weights " +
      dir.text("a"));
  EXPECT_EQ(wrong.code, 3);
  EXPECT_NE(wrong.output.find("tensors of the model are not there"), std::string::npos)
      << wrong.output;
}

TEST(Published, WeightsBeginARunAndAreExportedAtItsEnd) {
  const TemporaryFolder dir;
  const std::string model =
      "train_transformer --model gpt --width 16 --heads 2 --layers 1 --data synthetic --batch 1 "
      "--context 16 ";
  trained(model + "--steps 3 --export " + dir.text("first"), dir);
  const std::string begin = model + "--steps 4 --lr 1e-30 --seed 2 --weights " + dir.text("first") +
                            " --export " + dir.text("last") + " --run " + dir.text("run") +
                            " --resume --stop-after 2";
  const Outcome begun = run(begin);
  EXPECT_EQ(begun.code, 0) << begun.output;
  EXPECT_NE(begun.output.find("nothing is saved in "), std::string::npos) << begun.output;
  EXPECT_FALSE(std::filesystem::exists(dir / "last"));  // half trained

  std::filesystem::rename(dir / "first", dir / "gone");
  const std::string go_on = "train_transformer --resume " + dir.text("run");
  const Outcome other = run(go_on + " --weights " + dir.text("gone"));
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.output, "--weights: training goes on from " + dir.text("run") +
                              ", which did not begin with these: " + dir.text("gone") +
                              ". Leave it out.\n");
  EXPECT_EQ(run(go_on + " --plan-only").code, 0);
  const Outcome resumed = run(go_on + " --stop-after 1");
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_FALSE(std::filesystem::exists(dir / "last"));
  const Outcome repeated = run(begin);  // the same command as at first
  EXPECT_EQ(repeated.code, 0) << repeated.output;
  EXPECT_NE(repeated.output.find("resumed after 3 batches"), std::string::npos) << repeated.output;
  ASSERT_TRUE(std::filesystem::exists(dir / "last"));
  EXPECT_EQ(data::read_text(dir / "last"), data::read_text(dir / "gone"));  // nothing was learnt
}

}  // namespace
}  // namespace plimsoll::examples
