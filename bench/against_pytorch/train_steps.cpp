// Whole training steps of the example models: one side of the comparison with PyTorch.
//
//   train_steps --model gpt --write F     writes weights and batches into the folder F and ends
//   train_steps --model gpt --read F      starts from them; then, for each number n on a line of
//                                         stdin, runs n captured steps and answers with one line of
//                                         JSON: {"ms": [...], "loss": [...], "peak_kib": ...}
//
// --device, --precision, and for other sizes --batch, --context, --image-size and --layers, which
// both calls have to name, are as elsewhere. On a GPU the peak is that of the pool.
// --budget-percent trains within that part of the bytes that a step is planned for otherwise.
// Started by mpirun -n N with --ranks N, each rank trains a batch of its own, the first one
// answers, with its own losses.
//
// F holds each tensor as a file of raw little-endian elements, f32 or i64, and index.json, which
// lists their names and shapes. torch_steps.py reads the same folder and speaks the same lines.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench/against_pytorch/answer.h"
#include "core/engine/transfer.h"
#include "examples/common/options.h"
#include "examples/common/rank_options.h"
#include "examples/models/cnn_models.h"
#include "examples/models/transformer_models.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/init.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "train/training_step.h"

namespace plimsoll::examples {
namespace {

using NamedTensors = std::vector<nn::NamedTensor>;

constexpr int kBatches = 4;  // used in turn
constexpr double kLearningRate = 1e-3;

struct Workload {
  const char* name;
  Shape x, y;          // one batch
  int64_t vocabulary;  // x holds ids below it; 0: images
  int64_t classes;     // y holds labels below it
  // By global norm 1, with AdamW and decay 0.1 after it; without, plain Adam.
  bool clip;
};
const Workload kWorkloads[] = {
    {"lenet", {128, 28, 28, 1}, {128}, 0, 10, false},
    {"resnet8", {128, 32, 32, 3}, {128}, 0, 10, false},
    {"vgg", {128, 32, 32, 3}, {128}, 0, 10, false},
    {"gpt", {8, 256}, {8, 256}, 65, 65, true},
    {"textcls", {32, 128}, {32}, 10000, 10, true},
    {"gpt2-124M", {4, 1024}, {4, 1024}, kGpt2.vocabulary, kGpt2.vocabulary, true},
    {"resnet50", {32, 224, 224, 3}, {32}, 0, 1000, false},
    {"resnet18-cifar", {128, 32, 32, 3}, {128}, 0, 10, false},
};

struct SizedOptions : Options {
  int64_t context = 0, layers = 0;  // 0: the workload's own
  int64_t budget_percent = 100;
};

Workload workload(const SizedOptions& options) {
  const auto found = std::ranges::find(kWorkloads, options.model, &Workload::name);
  std::string all;
  for (const Workload& w : kWorkloads) all += cat(all.empty() ? "" : ", ", w.name);
  check<UsageError>(found != std::end(kWorkloads), "train_steps: no such model: ", options.model,
                    ". Use one of ", all, ".");
  Workload w = *found;
  if (options.batch > 0) w.x[0] = w.y[0] = options.batch;
  if (options.context > 0) w.x[1] = options.context;
  if (options.context > 0 && w.y.rank() == 2) w.y[1] = options.context;
  if (options.image_size > 0) w.x[1] = w.x[2] = options.image_size;
  return w;
}

std::unique_ptr<Staged> make_model(const Workload& w, int64_t layers, nn::Initializer& init) {
  if (w.name == std::string("gpt2-124M")) {
    GptSize size = kGpt2;
    if (layers > 0) size.layers = layers;
    return make_gpt(size, false, init);
  }
  if (w.name == std::string("gpt"))
    return make_gpt({.vocabulary = 65, .context = 256, .layers = 4, .heads = 8, .width = 256},
                    false, init);
  if (w.vocabulary > 0) return make_text_classifier({}, false, init);
  return make_cnn(w.name, {w.x[1], w.x[2], w.x[3], w.classes}, false, init);
}

NamedTensors make_batches(const Workload& w) {
  Keys keys(7);
  const auto ids = [&](const Shape& shape, int64_t below) {
    return cast(uniform(shape, 0, static_cast<double>(below) - 0.01, keys.next()), DType::i64);
  };
  NamedTensors all;
  for (int i = 0; i < kBatches; ++i) {
    all.push_back(
        {cat("x", i), w.vocabulary > 0 ? ids(w.x, w.vocabulary) : normal(w.x, 0, 1, keys.next())});
    all.push_back({cat("y", i), ids(w.y, w.classes)});
  }
  return all;
}

NamedTensors weights_and_batches(const Workload& w, const Staged& model) {
  NamedTensors all = make_batches(w);
  for (const auto& [name, tensor] : model.named_parameters()) all.push_back({name, tensor});
  return all;
}

template <class F>
void with_bytes(const Tensor& t, F&& f) {
  if (t.dtype() == DType::i64)
    f(reinterpret_cast<char*>(t.data<int64_t>()), t.count() * 8);
  else
    f(reinterpret_cast<char*>(t.data<float>()), t.count() * 4);
}

void write_folder(const std::filesystem::path& folder, const NamedTensors& all) {
  std::filesystem::create_directories(folder);
  Json index;
  for (const auto& [name, t] : all) {
    with_bytes(to_device(t, Device::cpu), [&](char* bytes, int64_t n) {
      std::ofstream(folder / name, std::ios::binary).write(bytes, n);
    });
    index[name] = {{"dtype", t.dtype() == DType::i64 ? "int64" : "float32"},
                   {"shape", std::vector<int64_t>(t.shape().begin(), t.shape().end())}};
  }
  std::ofstream(folder / "index.json") << index.dump(1);
}

void read_folder(const std::filesystem::path& folder, const NamedTensors& all) {
  for (const auto& [name, t] : all) {
    const Tensor host = t.device() == Device::cpu ? t : to_device(t, Device::cpu);
    with_bytes(host, [&, &name = name](char* bytes, int64_t n) {
      std::ifstream file(folder / name, std::ios::binary);
      check<DataError>(
          file.read(bytes, n) && file.peek() == EOF, "train_steps: a file has not the ", n,
          " bytes it should have: ", (folder / name).string(), ". Write the folder again.");
    });
    if (t.device() != Device::cpu) nn::assign(t, to_device(host, t.device()));
  }
}

// How many steps are asked for next, of all ranks by the first; 0: it is over.
int64_t asked_steps() {
  int64_t n = 0;
  Ranks* const ranks = Ranks::current();
  if ((!ranks || ranks->rank() == 0) && !(std::cin >> n)) n = 0;
  if (ranks) ranks->broadcast(&n, sizeof n, 0);
  return n;
}

void serve(const Workload& w, SizedOptions options, const Staged& model,
           const NamedTensors& batches, int64_t start_kib) {
  const Device device = device_named(options.device);
  const auto memory_kib = [&] {
    return device == Device::cpu ? peak_kib() : default_pool(device)->stats().peak.bytes / 1024;
  };
  const std::vector<Tensor> parameters = model.parameters();
  auto optimizer = w.clip ? optim::Optimizer(optim::AdamW(parameters, {.weight_decay = 0.1}))
                          : optim::Optimizer(optim::Adam(parameters));
  optimizer.set_learning_rate(kLearningRate);
  optim::ParameterGroups group(optimizer);
  if (w.clip) options.clip_norm = 1;
  // A window of ranks has a batch of each.
  const Ranks* const ranks = Ranks::current();
  const auto n_ranks = static_cast<size_t>(ranks_now());
  const size_t rank = ranks ? static_cast<size_t>(ranks->rank()) : 0;
  train::TrainingStep training(model, group, options, {.most = ranks_now()}, 0, ranks);
  training.prepare_window(0);
  training.window().at(0, 1);
  const StepFunction train = training.train(options.precision);
  StepOptions step_options;
  if (options.budget_percent < 100) {
    const Tensor& x = batches[0].tensor;
    const Plan all = Step(train, step_options).plan(x, batches[1].tensor, make_key(1, 0, device));
    step_options.budget = all.total_bytes() * options.budget_percent / 100;
  }
  Step step(train, step_options);
  size_t done = 0;
  const auto loss_of = [&](size_t i) {
    const size_t b = (i * n_ranks + rank) % kBatches * 2;
    const Tensor key = make_key(1, i, device);
    return step.run({batches[b].tensor, batches[b + 1].tensor, key})[0].item();
  };
  const auto memory = [&] { return Json{{"peak_kib", memory_kib()}, {"start_kib", start_kib}}; };
  while (const int64_t n = asked_steps()) answer(n, done, loss_of, memory);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  SizedOptions options;
  std::string write, read;
  CommandLine app{"Whole training steps, timed on request."};
  app.add_option("--model", options.model)->required();
  app.add_option("--threads", options.threads);
  app.add_option("--device", options.device);
  app.add_option("--precision", options.precision_name)->check(one_of(precision_names()));
  app.add_option("--batch", options.batch)->check(whole_number(1, kLargestBatch));
  app.add_option("--context", options.context)->check(whole_number(1, kGpt2.context));
  app.add_option("--image-size", options.image_size)->check(whole_number(1, 4096));
  app.add_option("--layers", options.layers, "gpt2-124M: blocks")->check(whole_number(1, kDeepest));
  app.add_option("--budget-percent", options.budget_percent)->check(whole_number(1, 100));
  app.add_option("--write", write, "Folder to write weights and batches into");
  app.add_option("--read", read, "Folder to read them from");
  add_rank_options(app, options);
  return run_example(app, argc, argv, options, [&] {
    // Before there is a model: what is above it is all that training takes.
    const int64_t start_kib = options.device == "cpu" ? peak_kib() : 0;
    const Workload w = workload(options);
    plimsoll::nn::Initializer init{.seed = 1, .placement = {.device = open_device(options.device)}};
    const auto model = make_model(w, options.layers, init);
    NamedTensors all = weights_and_batches(w, *model);
    for (auto& [name, tensor] : all) tensor = to_device(tensor, init.placement.device);
    if (!write.empty()) return write_folder(write, all);
    read_folder(read, all);
    serve(w, options, *model, all, start_kib);
  });
}
