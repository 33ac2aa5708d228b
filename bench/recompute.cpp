// What recompute costs: five nets, each planned for shares of the memory it takes when all is kept,
// beside what people do by hand: one checkpoint per block, and one per about sqrt(n) blocks; and
// beside what a textbook's tool would do: about sqrt(n) segments of the instructions, whatever
// blocks they belong to.
//
//   bench/recompute                    // plans only: added time predicted from measured op times
//   bench/recompute --run 60           // also runs: median of 60 steps with and without; or 10
//   bench/recompute --run 60 --only resnet56 --ratio 0.5    // one row
//
// "arena" is what a step holds besides parameters, optimizer state and inputs. Ratios are of its
// size without recompute. "at least" is the certificate: no plan in that memory repeats less. In
// brackets the medians of the first and of the second half of the steps: how far the measurement
// itself can be trusted.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "autograd/checkpoint.h"
#include "autograd/gradients.h"
#include "core/median.h"
#include "core/trace.h"
#include "memory/budget.h"
#include "memory/context.h"
#include "memory/dead_code.h"
#include "memory/early_update.h"
#include "memory/pooled_allocator.h"
#include "memory/recompute/program.h"
#include "memory/recompute/search.h"
#include "memory/replay.h"
#include "nn/checkpointed.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/sgd.h"

using namespace plimsoll;

namespace {

// Blocks one after another, every `group` of them under one checkpoint; 0: none.
class Chain : public nn::Module {
 public:
  template <class M, class... Args>
  void then(Args&&... args) {
    blocks_.push_back(&add<M>(cat("block", blocks_.size()), std::forward<Args>(args)...));
  }
  size_t size() const { return blocks_.size(); }
  size_t group = 0;

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor y = x;
    for (size_t i = 0; i < blocks_.size(); i += std::max<size_t>(group, 1)) {
      const Part part(blocks_, i, std::min(blocks_.size(), i + std::max<size_t>(group, 1)));
      // The last part's backward pass begins at once.
      y = group > 0 && part.end < blocks_.size() ? part.checkpointed(y, mode) : part(y, mode);
    }
    return y;
  }

 private:
  struct Part {
    Part(const std::vector<const nn::Module*>& all, size_t first, size_t last)
        : blocks(all), begin(first), end(last) {}
    Tensor operator()(Tensor x, const nn::Mode& mode) const {
      for (size_t i = begin; i < end; ++i) x = blocks[i]->forward(x, mode);
      return x;
    }
    Tensor checkpointed(const Tensor& x, const nn::Mode& mode) const {
      std::vector<Tensor> given{x};
      for (size_t i = begin; i < end; ++i)
        for (const Tensor& p : blocks[i]->parameters()) given.push_back(p);
      return checkpoint(
          [part = *this, mode](std::span<const Tensor> in) { return part(in[0], mode); }, given);
    }
    const std::vector<const nn::Module*>& blocks;
    size_t begin, end;
  };
  std::vector<const nn::Module*> blocks_;
};

class ConvNormRelu : public nn::Module {
 public:
  ConvNormRelu(int64_t in, int64_t out, nn::Build& build, int64_t stride = 1)
      : conv_(add<nn::Conv2d>("conv", in, out, 3, build,
                              nn::Conv2dOptions{.stride = stride, .padding = 1, .bias = false})),
        norm_(add<nn::BatchNorm2d>("norm", out, build)) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    return relu(norm_(conv_(x, mode), mode));
  }

 private:
  const nn::Conv2d& conv_;
  const nn::BatchNorm2d& norm_;
};

class Residual : public nn::Module {
 public:
  Residual(int64_t in, int64_t out, nn::Build& build)
      : first_(add<ConvNormRelu>("first", in, out, build, in == out ? 1 : 2)),
        conv_(add<nn::Conv2d>("conv", out, out, 3, build,
                              nn::Conv2dOptions{.padding = 1, .bias = false})),
        norm_(add<nn::BatchNorm2d>("norm", out, build)),
        shortcut_(in == out ? nullptr
                            : &add<nn::Conv2d>("shortcut", in, out, 1, build,
                                               nn::Conv2dOptions{.stride = 2, .bias = false})) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    const Tensor past = shortcut_ ? (*shortcut_)(x, mode) : x;
    return relu(norm_(conv_(first_(x, mode), mode), mode) + past);
  }

 private:
  const ConvNormRelu& first_;
  const nn::Conv2d& conv_;
  const nn::BatchNorm2d& norm_;
  const nn::Conv2d* shortcut_;
};

// x, and beside it what a convolution makes of it (Huang et al., "Densely Connected Convolutional
// Networks", 2017).
class Dense : public nn::Module {
 public:
  Dense(int64_t in, int64_t growth, nn::Build& build)
      : layer_(add<ConvNormRelu>("layer", in, growth, build)) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    return concat(std::vector{x, layer_(x, mode)}, -1);
  }

 private:
  const ConvNormRelu& layer_;
};

// Down and up again, with what was seen on the way down beside it (Ronneberger et al., "U-Net",
// 2015). Under a checkpoint each pair of convolutions keeps its input alone.
class UNet : public nn::Module {
 public:
  UNet(int64_t levels, int64_t width, nn::Build& build) {
    int64_t in = 3;
    for (int64_t i = 0; i < levels; ++i, in = width, width *= 2)
      down_.push_back(&pair(cat("down", i), in, width, build));
    for (int64_t i = levels - 1; i-- > 0; in /= 2) {
      const int64_t out = in / 2;
      up_.push_back(&add<nn::ConvTranspose2d>(cat("lift", i), in, out, 2, build,
                                              nn::ConvTranspose2dOptions{.stride = 2}));
      join_.push_back(&pair(cat("join", i), 2 * out, out, build));
    }
  }
  bool checkpointed = false;

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    std::vector<Tensor> seen{run(*down_[0], x, mode)};
    for (size_t i = 1; i < down_.size(); ++i)
      seen.push_back(run(*down_[i], max_pool2d(seen.back(), {}), mode));
    Tensor y = seen.back();
    for (size_t k = 0; k < up_.size(); ++k) {
      const Tensor lifted = up_[k]->forward(y, mode);
      y = run(*join_[k], concat(std::vector{seen[seen.size() - 2 - k], lifted}, -1), mode);
    }
    return y;
  }

 private:
  nn::Sequential& pair(const std::string& name, int64_t in, int64_t out, nn::Build& build) {
    nn::Sequential& both = add<nn::Sequential>(name);
    both.then<ConvNormRelu>(in, out, build).then<ConvNormRelu>(out, out, build);
    return both;
  }
  Tensor run(const nn::Sequential& part, const Tensor& x, const nn::Mode& mode) const {
    return checkpointed ? nn::checkpointed(part, x, mode) : part.forward(x, mode);
  }
  std::vector<const nn::Sequential*> down_, join_;
  std::vector<const nn::ConvTranspose2d*> up_;
};

struct Subject {
  std::string name;
  std::unique_ptr<nn::Module> net;
  std::function<void(size_t)> checkpoint;  // every so many blocks; 0: none
  size_t blocks = 0;                       // that can be grouped; 0: they cannot
  Tensor x;
};

Subject chain(const std::string& name, std::unique_ptr<Chain> net, Tensor x) {
  Chain* const blocks = net.get();
  return {name, std::move(net), [=](size_t group) { blocks->group = group; }, blocks->size(), x};
}

Subject gpt(int64_t layers, nn::Build& build) {
  auto net = std::make_unique<Chain>();
  for (int64_t i = 0; i < layers; ++i)
    net->then<nn::TransformerBlock>(
        256, build, nn::TransformerOptions{.heads = 8, .causal = true, .dropout = 0.1});
  return chain(cat("gpt, ", layers, " blocks"), std::move(net), uniform({4, 256, 256}, -1, 1, 1));
}

Subject resnet(int64_t depth, nn::Build& build) {
  auto net = std::make_unique<Chain>();
  net->then<ConvNormRelu>(3, 16, build);
  int64_t in = 16;
  for (const int64_t out : {16, 32, 64})
    for (int64_t i = 0; i < (depth - 2) / 6; ++i, in = out) net->then<Residual>(in, out, build);
  return chain(cat("resnet", depth), std::move(net), uniform({32, 32, 32, 3}, -1, 1, 1));
}

Subject densenet(nn::Build& build) {
  auto net = std::make_unique<Chain>();
  net->then<ConvNormRelu>(3, 32, build);
  int64_t channels = 32;
  for (int i = 0; i < 24; ++i, channels += 12) net->then<Dense>(channels, 12, build);
  return chain("densely connected", std::move(net), uniform({16, 32, 32, 3}, -1, 1, 1));
}

Subject unet(nn::Build& build) {
  auto net = std::make_unique<UNet>(4, 16, build);
  UNet* const levels = net.get();
  return {"u-net", std::move(net), [=](size_t group) { levels->checkpointed = group > 0; }, 0,
          uniform({8, 64, 64, 3}, -1, 1, 1)};
}

StepFunction training(const Subject& subject, optim::SGD& optimizer) {
  return [&](std::span<const Tensor> in) {
    const Tensor y = subject.net->forward(in[0], nn::training(in[1]));
    const Tensor loss = mean(y * y);
    optimizer.update(gradients(loss, optimizer.parameters()));
    return std::vector{loss};
  };
}

// Of a program in the arena that is planned for it.
double predicted_seconds(const Program& program) {
  const std::vector<double> seconds = seconds_in_context(
      program, make_plan(program), instruction_costs(program, CostModel::measured));
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

// A program in an arena of its own.
class Run {
 public:
  explicit Run(const Fitted& fitted)
      : arena_(Storage::allocate(Device::cpu, fitted.plan.arena_bytes, MemoryClass::arena, "run")),
        replay_(fitted.program, fitted.plan) {
    replay_.bind(arena_->data());
  }

  // Of the second of two steps: the first finds in the caches what the other program left there.
  double milliseconds(std::span<const Tensor> inputs) {
    replay_.run(inputs);
    const auto start = std::chrono::steady_clock::now();
    replay_.run(inputs);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }

 private:
  std::shared_ptr<Storage> arena_;
  Replay replay_;
};

// Steps within a budget against steps that keep all, in turns: the median ratio, and those of the
// two halves of the rounds. Each round has pages of its own from the system: by some per cent the
// time depends on where they lie.
void print_measured(const Fitted& all, const Fitted& fitted, std::span<const Tensor> inputs,
                    int rounds) {
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const AllocatorScope scope(std::make_shared<PooledAllocator>(host_provider()));
    Run keeps(all), repeats(fitted);
    const double base = keeps.milliseconds(inputs);
    ratios.push_back(repeats.milliseconds(inputs) / base);
  }
  const auto percent = [&](int begin, int end) {
    return 100 * (median({ratios.begin() + begin, ratios.begin() + end}) - 1);
  };
  std::printf("  measured %+6.1f %% (%.1f, %.1f)", percent(0, rounds), percent(0, (rounds + 1) / 2),
              percent(rounds / 2, rounds));
}

struct Options {
  int rounds = 0;  // steps to measure; 0: none
  std::string only;
  std::vector<double> ratios{0.7, 0.5, 0.3, 0.2};
};

void print_table(const Subject& subject, const Options& options) {
  optim::SGD optimizer(subject.net->parameters(), {.learning_rate = 1e-3});
  const StepFunction function = training(subject, optimizer);
  const std::vector inputs{subject.x, make_key(1, 0)};
  const Metas metas{inputs[0].meta(), inputs[1].meta()};
  const auto program = [&](size_t group) {
    subject.checkpoint(group);
    Program captured = remove_dead(capture(function, metas));
    subject.checkpoint(0);
    return captured;
  };

  const Program keep = program(0);
  instruction_costs(keep, CostModel::measured);  // once: planning is timed without
  const auto start = std::chrono::steady_clock::now();
  const BudgetPlanner planner(keep, {});
  planner.smallest();                         // the search
  planner.fit(planner.largest() - kGranule);  // in which all that it found is placed and priced
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Fitted keeps = planner.fit(planner.largest());
  const Plan& all = keeps.plan;
  const double base = all.recompute.step_seconds;
  const int64_t outside = planner.largest() - all.arena_bytes;
  std::printf("\n%s: %zu instructions, arena %.1f MiB, planned in %.1f s, %.0f ms a step\n",
              subject.name.c_str(), keep.instructions.size(),
              static_cast<double>(all.arena_bytes) / (1 << 20), seconds, 1e3 * base);
  for (const double ratio : options.ratios) {
    const auto arena = static_cast<int64_t>(ratio * static_cast<double>(all.arena_bytes));
    try {
      const Fitted fitted = planner.fit(outside + arena);
      const Recompute& r = fitted.plan.recompute;
      std::printf("  ratio %.2f: +%5.1f %%  at least +%5.1f %%", ratio,
                  100 * r.added_seconds / r.step_seconds,
                  100 * r.least_added_seconds / r.step_seconds);
      if (options.rounds > 0) print_measured(keeps, fitted, inputs, options.rounds);
      std::printf("\n");
    } catch (const BudgetError&) {
      std::printf(
          "  ratio %.2f: not possible; the smallest is %.2f\n", ratio,
          static_cast<double>(planner.smallest() - outside) / static_cast<double>(all.arena_bytes));
    }
    std::fflush(stdout);
  }
  const auto beside = [&](const std::string& what, int64_t arena, double added) {
    const Recompute ours = planner.fit(outside + arena).plan.recompute;
    std::printf("  %-22s ratio %.2f: +%5.1f %%, ours there +%5.1f %%\n", what.c_str(),
                static_cast<double>(arena) / static_cast<double>(all.arena_bytes), 100 * added,
                100 * ours.added_seconds / ours.step_seconds);
  };
  const auto by_hand = [&](const std::string& what, size_t group) {
    const Program other = update_early(program(group));
    beside(what, make_plan(other).arena_bytes, predicted_seconds(other) / base - 1);
  };
  by_hand("checkpoint per block", 1);
  if (subject.blocks > 0) {
    const auto group = static_cast<size_t>(std::sqrt(static_cast<double>(subject.blocks)));
    by_hand(cat("checkpoint per ", group), group);
  }
  // Of up to about 2 sqrt(n) segments of instructions, the number that takes least memory.
  const Program early = update_early(keep);
  std::vector<double> costs;
  for (const Cost& cost : instruction_costs(early, CostModel::measured))
    costs.push_back(cost.between());
  const recompute::Timeline timeline(recompute::problem_of(early, costs));
  recompute::Simulator simulator(timeline);
  const auto peak = [&](const recompute::Choices& choices) { return simulator.run(choices).peak; };
  const std::vector<recompute::Choices> plans = recompute::segment_plans(timeline);
  const recompute::Choices& best = *std::ranges::min_element(plans, {}, peak);
  const Program segments = recompute::rewrite(early, simulator.schedule(best));
  beside("sqrt(n) segments", make_plan(segments).arena_bytes,
         predicted_seconds(segments) / base - 1);
}

// Of a word on the command line; 0 where it is none.
double number(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return *end == 0 && std::isfinite(value) ? value : 0;
}

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "recompute: %s\n", sentence.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc && argv[i + 1][0] != '-';
    const std::string name = argv[i];
    if (name == "--run") {
      const double steps = has_value ? number(argv[++i]) : 10;
      if (steps < 1 || steps > 1e6 || steps != std::floor(steps))
        return refuse(cat("--run: not a whole number from 1 to 1000000: ", argv[i], "."));
      options.rounds = static_cast<int>(steps);
    } else if (name == "--only" && has_value) {
      options.only = argv[++i];
    } else if (name == "--ratio" && has_value) {
      options.ratios = {number(argv[++i])};
      if (options.ratios[0] <= 0)
        return refuse(cat("--ratio: not a number above 0: ", argv[i], "."));
    } else {
      return refuse(cat("there is no such option, or it has no value: ", name,
                        ". Use --run [STEPS], --only NAME and --ratio R."));
    }
  }
  nn::Build build{.seed = 1};
  std::string names;
  bool found = false;
  const auto print_asked = [&](const Subject& subject) {
    names += cat(names.empty() ? "\"" : ", \"", subject.name, "\"");
    if (!subject.name.starts_with(options.only)) return;
    found = true;
    print_table(subject, options);
  };
  print_asked(gpt(12, build));
  for (const int64_t depth : {20, 56, 110}) print_asked(resnet(depth, build));
  print_asked(unet(build));
  print_asked(densenet(build));
  if (!found)
    return refuse(cat("--only: no net has a name that begins like this: ", options.only,
                      ". There are ", names, "."));
}
