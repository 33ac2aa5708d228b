#include "examples/common/budget.h"

#include "memory/dead_code.h"
#include "memory/provider.h"

namespace plimsoll::examples {
namespace {

CLI::Validator budget() {
  return {[](std::string& text) -> std::string {
            if (text == "auto") return "";
            try {
              parse_bytes(text);
              return "";
            } catch (const ValueError&) {
              return cat("not a size above 0, as in 300MiB, nor auto: ",
                         text.empty() ? "\"\"" : text);
            }
          },
          ""};
}

BudgetOptions planning(const Options& options) {
  return {.costs = options.cost == "model" ? CostModel::model : CostModel::measured,
          .search_seconds = options.plan_seconds};
}

// What would fit: half the batch, and half of that, and so on, in this precision and in bf16.
std::string advice(const Options& options, int64_t budget, const Metas& inputs,
                   const TrainStep& train_step) {
  std::string text;
  std::vector<std::string> names{options.precision};
  if (options.precision == "f32") names.emplace_back("bf16");
  for (const std::string& name : names)
    for (int64_t batch = options.batch; batch > 0; batch /= 2) {
      if (batch == options.batch && name == options.precision) continue;
      Metas fewer = inputs;
      fewer[0].shape[0] = fewer[1].shape[0] = batch;
      const BudgetPlanner planner(remove_dead(capture(train_step(precision_named(name)), fewer)),
                                  {.costs = CostModel::model, .search_seconds = 0.2});
      if (planner.smallest() > budget) continue;
      text += cat(text.empty() ? " It would do with " : " or ", "--batch ", batch);
      if (name != options.precision) text += cat(" --precision ", name);
      break;
    }
  return text.empty() ? " No smaller batch fits either." : text + ".";
}

}  // namespace

void add_budget_options(CLI::App& app, Options& options) {
  app.add_option("--budget", options.budget,
                 "Bytes that training may hold, as in 300MiB; auto: what is free")
      ->check(budget());
  app.add_flag("--plan-only", options.plan_only, "Print the plan and stop before the first step");
  app.add_option("--plan-seconds", options.plan_seconds,
                 "How long to search for what to recompute, in seconds of a core of 2025")
      ->check(positive_number())
      ->capture_default_str();
  app.add_option("--cost", options.cost,
                 "What recompute is weighed by: measured times, or a model that is the same "
                 "everywhere")
      ->check(CLI::IsMember({"measured", "model"}))
      ->capture_default_str();
}

StepOptions step_options(const Options& options) {
  if (options.plan_only || !options.budget.empty())
    check<UsageError>(options.captured(), options.plan_only ? "--plan-only" : "--budget",
                      ": only a captured step is planned: --mode ", options.mode,
                      ". Use --mode captured.");
  if (options.budget.empty()) return {};
  return {.budget =
              options.budget == "auto" ? host_provider().available() : parse_bytes(options.budget),
          .planning = planning(options)};
}

int64_t print_plan(Runner& step, const Metas& inputs, const Options& options,
                   const TrainStep& train_step, optim::Accumulation& window,
                   std::initializer_list<int64_t> sizes) {
  try {
    return step.plan_windows(inputs, window, sizes);
  } catch (const BudgetError& e) {
    fail<UsageError>("--budget ", options.budget, ": ", e.what(),
                     advice(options, step_options(options).budget, inputs, train_step));
  }
}

}  // namespace plimsoll::examples
