// What fusion (docs/fusion.md) is worth: whole training steps with and without it, in turn.
//
//   fusion [--rounds 40] [--models gpt,textcls,lenet,resnet8,vgg] [--dropout 0.1]
//
// For each model: its instructions, the bytes of the arena and the time of a step, plain and fused;
// then each kind of group, how often it occurs, and what its members and it cost by themselves, all
// of them together (memory/costs.h: the fastest of five runs). Times of steps are medians of the
// processor time of this process, so that others on the machine matter little; the ratio is the
// median of the ratios of neighbours.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <map>

#include "autograd/gradients.h"
#include "core/median.h"
#include "examples/common/cnn_models.h"
#include "examples/common/options.h"
#include "examples/common/transformer_models.h"
#include "memory/costs.h"
#include "memory/fusion/fused.h"
#include "memory/fusion/groups.h"
#include "memory/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"

namespace plimsoll::examples {
namespace {

// The models and batches of the comparison with PyTorch (against_pytorch/train_steps.cpp).
struct Setup {
  std::unique_ptr<Staged> model;
  std::vector<Tensor> inputs;
  bool clip;
};

Setup make_setup(const std::string& name, double dropout) {
  nn::Build build{.seed = 1};
  const auto ids = [](const Shape& shape, double below) {
    return cast(uniform(shape, 0, below - 0.01, 7), DType::i64);
  };
  const Tensor key = make_key(1, 1);
  if (name == "gpt")
    return {make_gpt({.vocabulary = 65,
                      .context = 256,
                      .layers = 4,
                      .heads = 8,
                      .width = 256,
                      .dropout = dropout},
                     false, build),
            {ids({8, 256}, 65), ids({8, 256}, 65), key},
            true};
  if (name == "textcls")
    return {make_text_classifier({.dropout = dropout}, false, build),
            {ids({32, 128}, 10000), ids({32}, 10), key},
            true};
  const int64_t side = name == "lenet" ? 28 : 32, channels = name == "lenet" ? 1 : 3;
  const Shape shape{128, side, side, channels};
  return {make_cnn(name, {side, side, channels, 10}, false, build),
          {normal(shape, 0, 1, 3), ids({128}, 10), key},
          false};
}

struct GroupCost {
  int found = 0, times = 0;     // not all that are found run together
  double plain = 0, fused = 0;  // milliseconds, of all of them
};

std::map<std::string, GroupCost> costs_of_groups(const Program& plain, const Program& fused) {
  std::map<std::string, GroupCost> all;
  const std::vector<Cost> before = instruction_costs(plain, CostModel::measured);
  const std::vector<Cost> after = instruction_costs(fused, CostModel::measured);
  for (const fusion::Group& group : fusion::find_groups(plain, kFuseAll)) {
    std::string name;
    double seconds = 0;
    for (const int m : group.members) {
      name += cat(name.empty() ? "" : "+", plain.instructions[static_cast<size_t>(m)].op->name);
      seconds += before[static_cast<size_t>(m)].at(kFarthest);
    }
    all[name].plain += 1e3 * seconds;
    ++all[name].found;
  }
  for (size_t i = 0; i < after.size(); ++i)
    if (const Instruction& instruction = fused.instructions[i]; fusion::is_fused(instruction)) {
      GroupCost& cost = all[instruction.op->name];
      ++cost.times;
      cost.fused += 1e3 * after[i].at(kFarthest);
    }
  std::erase_if(all, [](const auto& entry) { return entry.second.times == 0; });
  for (auto& [name, cost] : all) cost.plain *= static_cast<double>(cost.times) / cost.found;
  return all;
}

void measure(const std::string& name, double dropout, int rounds) {
  const Setup setup = make_setup(name, dropout);
  const std::vector<Tensor> parameters = setup.model->parameters();
  optim::Optimizer optimizer{optim::Adam(parameters)};
  const auto train = [&](const Tensor& x, const Tensor& y, const Tensor& key) {
    const Tensor loss = cross_entropy((*setup.model)(x, nn::training(key)), y);
    std::vector<Tensor> grads = gradients(loss, parameters);
    if (setup.clip) grads = optim::clip_by_global_norm(grads, 1.0).grads;
    optimizer.update(grads);
    return loss;
  };
  Step plain(train), fused(train, {.fusion = kFuseAll});
  Metas metas;
  for (const Tensor& x : setup.inputs) metas.push_back(x.meta());
  const auto milliseconds = [&](Step& step) {
    const std::clock_t start = std::clock();
    step.run(setup.inputs);
    return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  std::vector<double> before, after, ratios;
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    const bool plain_first = round % 2 == 0;       // whoever comes second finds other caches
    const double first = milliseconds(plain_first ? plain : fused);
    const double second = milliseconds(plain_first ? fused : plain);
    if (round < 0) continue;
    before.push_back(plain_first ? first : second);
    after.push_back(plain_first ? second : first);
    ratios.push_back(after.back() / before.back());
  }
  const Plan &a = plain.plan(metas), &b = fused.plan(metas);
  std::printf("%-8s %4d -> %4d instructions, %11lld -> %11lld bytes, %7.2f -> %7.2f ms, %.4f\n",
              name.c_str(), a.instructions, b.instructions, static_cast<long long>(a.arena_bytes),
              static_cast<long long>(b.arena_bytes), median(before), median(after), median(ratios));
  for (const auto& [group, cost] : costs_of_groups(plain.program(metas), fused.program(metas)))
    std::printf("  %3d %-24s %6.3f -> %6.3f ms\n", cost.times, group.c_str(), cost.plain,
                cost.fused);
  std::fflush(stdout);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  int rounds = 40;
  double dropout = 0;
  std::vector<std::string> models{"gpt", "textcls", "lenet", "resnet8", "vgg"};
  CLI::App app{"Training steps with and without fusion, in turn."};
  app.add_option("--threads", options.threads);
  app.add_option("--rounds", rounds);
  app.add_option("--dropout", dropout, "Of the transformers");
  app.add_option("--models", models)->delimiter(',');
  return run_example(app, argc, argv, options, [&] {
    for (const std::string& model : models) measure(model, dropout, rounds);
  });
}
