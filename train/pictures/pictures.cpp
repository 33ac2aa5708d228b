#include "train/pictures/pictures.h"

#include "memory/recompute/costs.h"
#include "memory/step/passes.h"
#include "train/pictures/exports.h"
#include "train/pictures/pages.h"

namespace plimsoll::train {
namespace {

constexpr size_t kEvents = 500'000;  // some ten times those of two steps of a deep model
constexpr int kSteps = 2;
constexpr double kShortSearch = 0.2;  // seconds

std::optional<data::OutputFile> file(const char* option, const std::string& path) {
  return path.empty() ? std::nullopt : std::optional<data::OutputFile>(std::in_place, option, path);
}

std::string about(const TrainOptions& options, const Metas& inputs) {
  std::string text =
      cat("one training step, batch ", inputs[0].shape[0], ", ", name_of(options.precision));
  if (options.accumulate > 1) text += cat(", the last of ", options.accumulate, " that add up");
  if (!options.note.empty()) text += ", " + options.note;
  return text;
}

}  // namespace

void keep_history(const TrainOptions& options, PooledAllocator& pool) {
  if (!options.captured && !options.snapshot.empty()) pool.keep_history(kEvents);
}

Pictures::Pictures(const TrainOptions& options)
    : options_(options),
      report_(file("report", options.report)),
      snapshot_(file("snapshot", options.snapshot)),
      trace_(file("trace", options.trace)) {
  if (options.captured) return;
  check<UsageError>(
      !report_ && !trace_, report_ ? "report" : "trace",
      ": only a captured step has a plan to draw. Capture it, or ask for a snapshot.");
}

void Pictures::draw_plan(Runner& step, const Metas& inputs, const StepFunction& function,
                         const optim::Accumulation& window) const {
  if (!options_.captured || (!report_ && !snapshot_ && !trace_)) return;
  const Plan& plan = *step.plan(inputs);
  const Program& program = *step.program(inputs);
  const MemoryTimeline timeline = make_timeline(program, plan);
  if (report_) {
    std::vector<Drawn> runs;
    Step keeping(function, {.variant = [&] { return window.phase(); }});
    std::optional<PlannedProgram> smallest;
    if (plan.recompute.budget > 0) {
      runs.push_back({"without recompute", keeping.plan(inputs),
                      make_timeline(keeping.program(inputs), keeping.plan(inputs))});
    } else {
      const BudgetPlanner planner =
          budget_planner(program, {.costs = CostModel::model, .search_seconds = kShortSearch});
      smallest = planner.plan_within(planner.smallest());
      runs.push_back({"within the smallest budget", smallest->plan,
                      make_timeline(smallest->program, smallest->plan)});
    }
    runs.push_back(
        {plan.recompute.budget > 0 ? "within the budget" : "as it runs", plan, timeline});
    report_->write(memory_page(options_.name, about(options_, inputs), runs));
  }
  if (snapshot_) write_snapshot(planned_events(timeline, plan));
  if (trace_) {
    const double farness = arena_farness(plan.arena_bytes);
    std::vector<double> seconds;
    for (const Cost& cost : instruction_costs(program, options_.planning.costs))
      seconds.push_back(cost.at(farness));
    trace_->write(trace(timeline, seconds).dump());
  }
}

void Pictures::draw_pool(PooledAllocator& pool) {
  if (options_.captured || !snapshot_ || ++steps_ > kSteps) return;
  write_snapshot(pool.history());
  if (steps_ == kSteps) pool.keep_history(0);
}

void Pictures::write_snapshot(std::span<const MemoryEvent> events) const {
  const Json json = snapshot(events);
  snapshot_->write(options_.snapshot.ends_with(".json") ? json.dump() : pickle(json));
}

}  // namespace plimsoll::train
