// Weights saved here load in PyTorch with strict=True and give the same outputs, and back.
#include "nn/torch_layout.h"

#include "examples/models/cnn_models.h"
#include "examples/models/transformer_models.h"
#include "formats/safetensors.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/nn/testing.h"
#include "tests/support/full_pool.h"
#include "tests/support/python.h"

namespace plimsoll::nn {
namespace {

using data::TemporaryFolder;
using formats::read_safetensors;
using formats::write_safetensors;

// Writes the model and a run of it, lets PyTorch do its part, then loads what PyTorch wrote.
void expect_same_in_pytorch(const std::string& name, const Module& model, const Tensor& x,
                            const TorchLayout& layout = {},
                            const std::string& packages = "numpy, torch") {
  NEEDS_PYTHON(packages);
  const TemporaryFolder dir;
  write_safetensors(dir / "ours.safetensors", torch_state(model, layout), {{"format", "pt"}});
  const NamedTensor ours[] = {{"x", x}, {"logits", model(x).detach()}};
  write_safetensors(dir / "ours_run.safetensors", ours);

  const python::Outcome outcome =
      python::run("examples/references/torch_models.py", {name, dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::cout << outcome.output;

  load_torch_state(model, read_safetensors(dir / "theirs.safetensors"), layout);
  const formats::Safetensors theirs(dir / "theirs_run.safetensors");
  const double difference = distance(values(model(x)), values(theirs.tensor("logits")));
  std::cout << name << ": on the way back by " << difference << "\n";
  EXPECT_LE(difference, 1e-5);
}

Tensor images(int64_t height, int64_t width, int64_t channels) {
  return cast(draw({4, height, width, channels}, 7), DType::f32);
}

TEST(TorchLayout, LenetIsTheSameInPyTorch) {
  Initializer init{.seed = 3};
  const auto model = examples::make_cnn("lenet", {28, 28, 1, 10}, false, init);
  expect_same_in_pytorch("lenet", *model, images(28, 28, 1),
                         examples::cnn_torch_layout("lenet", {28, 28, 1, 10}));
}

TEST(TorchLayout, GptIsTheSameInPyTorch) {
  Initializer init{.seed = 3};
  const auto model = examples::make_gpt({}, false, init);
  shake(*model, 5);  // norms that are not 1 and 0
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 2 * 64; ++i) ids.push_back(i * i % 65);
  expect_same_in_pytorch("gpt", *model, Tensor::of(std::span<const int64_t>(ids), {2, 64}));
}

TEST(TorchLayout, ResnetIsTheSameInPyTorch) {
  Initializer init{.seed = 3};
  const auto model = examples::make_cnn("resnet8", {32, 32, 3, 10}, false, init);
  const Tensor x = images(32, 32, 3);
  (*model)(x, training());  // running statistics that are not 0 and 1
  expect_same_in_pytorch("resnet8", *model, x);
}

TEST(TorchLayout, Gpt2IsTheSameInTransformers) {
  Initializer init{.seed = 3};
  const auto model = examples::make_gpt({.vocabulary = 97,
                                         .context = 64,
                                         .layers = 3,
                                         .heads = 4,
                                         .width = 64,
                                         .bias = true,
                                         .activation = Activation::gelu_tanh},
                                        false, init);
  shake(*model, 5);  // norms that are not 1 and 0, biases that are not 0
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 2 * 50; ++i) ids.push_back(i * i % 97);
  expect_same_in_pytorch("gpt2", *model, Tensor::of(std::span<const int64_t>(ids), {2, 50}),
                         examples::gpt2_torch_layout(), "numpy, torch, transformers");
}

TEST(TorchLayout, ResnetsAreTheSameInTorchvision) {
  for (const char* name : {"resnet50", "resnet18-cifar"}) {
    Initializer init{.seed = 3};
    // On smaller images PyTorch's own f32 is further from its f64: 8e-6 at 64 x 64.
    const int64_t size = name == std::string("resnet50") ? 224 : 32;
    const auto model = examples::make_cnn(name, {size, size, 3, 10}, false, init);
    const Tensor x = images(size, size, 3);
    (*model)(x, training());  // running statistics that are not 0 and 1
    expect_same_in_pytorch(name, *model, x, examples::cnn_torch_layout(name, {}),
                           "numpy, torch, torchvision");
  }
}

TEST(TorchLayout, OtherModulesAreTheSameInPyTorch) {
  Initializer init{.seed = 3};
  const TransformerBlock block(
      32, init,
      {.heads = 4, .feed_forward = 64, .norm = NormOrder::post, .activation = Activation::relu});
  expect_same_in_pytorch("block", block, cast(draw({2, 5, 32}, 1), DType::f32));

  Sequential lines;
  lines.then<Conv1d>(8, 12, 3, init, Conv1dOptions{.padding = 1, .groups = 2})
      .then<ConvTranspose1d>(12, 6, 4, init, ConvTranspose1dOptions{.stride = 2})
      .then<GroupNorm>(3, 6, init);
  expect_same_in_pytorch("convolutions", lines, cast(draw({2, 9, 8}, 1), DType::f32));

  Sequential up;
  up.then<ConvTranspose2d>(4, 6, Pair(2, 3), init, ConvTranspose2dOptions{.stride = 2, .groups = 2})
      .then<BatchNorm2d>(6, init);
  expect_same_in_pytorch("up", up, images(5, 6, 4));
}

// conv -> bn -> flatten -> linear: every layout that differs.
struct Net : Sequential {
  explicit Net(Initializer& init) {
    then<Conv2d>(2, 3, Pair(1, 2), init)
        .then<BatchNorm2d>(3, init)
        .then<Flatten>()
        .then<Linear>(2 * 1 * 3, 2, init);
  }
};
const TorchLayout kFlattened{.flattened = {{"3", {2, 1, 3}}}};

TEST(TorchLayout, NamesAndPlacesOfEveryElement) {
  Initializer init{.seed = 1};
  const Net net(init);
  const auto state = torch_state(net, kFlattened);
  EXPECT_EQ(names(state), (std::vector<std::string>{
                              "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                              "1.running_var", "1.num_batches_tracked", "3.weight", "3.bias"}));
  EXPECT_EQ(state[0].tensor.shape(), (Shape{3, 2, 1, 2}));  // [O, I, KH, KW]
  EXPECT_EQ(state[6].tensor.meta(), (Meta{{}, DType::i64}));
  EXPECT_EQ(state[7].tensor.shape(), (Shape{2, 6}));
  const Doubles filter = values(net, "0.weight"), theirs = values(state[0].tensor);
  for (int o = 0; o < 3; ++o)
    for (int i = 0; i < 2; ++i)
      for (int w = 0; w < 2; ++w)
        EXPECT_EQ(theirs[(o * 2 + i) * 2 + w], filter[(o * 2 + w) * 2 + i]);
  const Doubles dense = values(net, "3.weight"), flat = values(state[7].tensor);
  for (int o = 0; o < 2; ++o)
    for (int h = 0; h < 2; ++h)
      for (int c = 0; c < 3; ++c) EXPECT_EQ(flat[o * 6 + c * 2 + h], dense[o * 6 + h * 3 + c]);

  Initializer other{.seed = 2};
  const Net loaded(other);
  load_torch_state(loaded, state, kFlattened);
  for (const auto& own : net.named_parameters())
    EXPECT_EQ(values(loaded, own.name), values(own.tensor)) << own.name;
}

TEST(TorchLayout, OtherNamesAndTransposedMatrices) {
  Initializer init{.seed = 1};
  const Net net(init);
  const TorchLayout layout{.renames = {{"0.", "conv."}, {"3.", "fc."}, {"fc.weight", "fc.w"}},
                           .transposed = {"c.w"}};
  const auto state = torch_state(net, layout);
  EXPECT_EQ(names(state), (std::vector<std::string>{"conv.weight", "conv.bias", "1.weight",
                                                    "1.bias", "1.running_mean", "1.running_var",
                                                    "1.num_batches_tracked", "fc.w", "fc.bias"}));
  EXPECT_EQ(state[7].tensor.shape(), (Shape{6, 2}));
  const Doubles ours = values(net, "3.weight"), theirs = values(state[7].tensor);
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < 6; ++i) EXPECT_EQ(theirs[i * 2 + o], ours[o * 6 + i]);
  Initializer other{.seed = 2};
  const Net loaded(other);
  load_torch_state(loaded, state, layout);
  EXPECT_EQ(values(loaded, "3.weight"), ours);

  const auto refusal = [&](const TorchLayout& wrong) {
    return error_of<ValueError>([&] { torch_state(net, wrong); });
  };
  EXPECT_EQ(refusal({.transposed = {"3.bias"}}),
            "torch_layout: \"3.bias\" cannot be transposed: it is [2]. Name the ends of names of "
            "matrices.");
  EXPECT_TRUE(refusal({.transposed = {"0.weight"}})
                  .ends_with(  // a filter
                      "Name the ends of names of matrices."));
}

TEST(TorchLayout, OtherFloatingTypesAreConverted) {
  Initializer init{.seed = 1};
  const Linear net(2, 1, init);
  load_torch_state(net, std::vector<NamedTensor>{{"weight", Tensor::of<double>({1, 2}, {1, 2})},
                                                 {"bias", Tensor::of<double>({3}, {1})}});
  EXPECT_EQ(values(net, "weight"), (Doubles{1, 2}));
  EXPECT_EQ(net.weight().dtype(), DType::f32);
}

TEST(TorchLayout, LoadsAllOrNothingWhenMemoryEnds) {
  Initializer init{.seed = 1};
  const Net net(init);
  const auto all_values = [&] {
    Doubles all;
    for (const auto& tensors : {net.named_parameters(), net.named_buffers()})
      for (const NamedTensor& own : tensors)
        std::ranges::copy(values(own.tensor), std::back_inserter(all));
    return all;
  };
  const double bias = values(net, "3.bias")[0];
  const Doubles before = all_values();
  std::vector<NamedTensor> state = torch_state(net, kFlattened);
  for (NamedTensor& item : state)
    if (is_floating(item.tensor.dtype())) item.tensor = cast(item.tensor * 2, DType::f64);
  int failures = 0;
  for (bool loaded = false; !loaded; ++failures) {
    const auto pool = std::make_shared<FullPool>(host_provider());
    const AllocatorScope scope(pool);
    pool->full_at = failures + 1;
    try {
      load_torch_state(net, state, kFlattened);
      loaded = true;
    } catch (const OutOfMemory&) {
      EXPECT_EQ(all_values(), before) << "allocation " << failures + 1;
    }
  }
  EXPECT_GE(failures, 8);  // every tensor changes its type
  EXPECT_EQ(values(net, "3.bias")[0], 2 * bias);
}

TEST(TorchLayout, RefusesAnotherModelAndLosesNothing) {
  Initializer init{.seed = 1};
  const Net net(init);
  const Doubles before = values(net, "0.weight");
  auto state = torch_state(net, kFlattened);
  for (NamedTensor& item : state) item.tensor = clone(item.tensor);
  assign(state[0].tensor, zeros({3, 2, 1, 2}));
  const auto refusal = [&](const std::vector<NamedTensor>& all, const TorchLayout& layout) {
    return error_of<ValueError>([&] { load_torch_state(net, all, layout); });
  };
  auto changed = state;
  changed.pop_back();
  EXPECT_EQ(refusal(changed, kFlattened),
            "load_torch_state: 1 tensors of the model are not there: \"3.bias\". Load the state of "
            "the same model.");
  changed = state;
  for (const char* name : {"a", "b", "c", "d"}) changed.push_back({name, state[1].tensor});
  EXPECT_EQ(refusal(changed, kFlattened),
            "load_torch_state: 4 tensors do not belong to the model: \"a\", \"b\", \"c\" and 1 "
            "more. Load the state of the same model.");
  changed = state;
  changed.push_back(state[0]);
  EXPECT_EQ(refusal(changed, kFlattened),
            "load_torch_state: \"0.weight\" is undefined or there twice. Give every tensor once.");
  changed = state;
  changed[8].tensor = Tensor::of<int64_t>({1, 2}, {2});
  EXPECT_EQ(refusal(changed, kFlattened),
            "load_torch_state: \"3.bias\" is i64 [2] and has to be f32 [2]. Load the state of the "
            "same model.");
  EXPECT_EQ(refusal(state, {.flattened = {{"2", {2, 1, 3}}}}),
            "torch_layout: there is no module \"2\" with a weight. Name a Linear module of the "
            "model.");
  EXPECT_EQ(refusal(state, {.flattened = {{"3", {2, 3}}}}),
            "torch_layout: a flattened image [2, 3] is not what \"3\" takes. Name a Linear module "
            "and the height, width and channels of its input.");
  EXPECT_EQ(values(net, "0.weight"), before);
}

}  // namespace
}  // namespace plimsoll::nn
