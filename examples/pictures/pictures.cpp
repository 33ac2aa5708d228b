#include "examples/pictures/pictures.h"

#include "examples/pictures/exports.h"
#include "examples/pictures/pages.h"
#include "memory/recompute/costs.h"

namespace plimsoll::examples {
namespace {

constexpr size_t kEvents = 500'000;  // some ten times those of two steps of a deep model
constexpr int kSteps = 2;

std::optional<OutputFile> file(const char* option, const std::string& path) {
  return path.empty() ? std::nullopt : std::optional<OutputFile>(std::in_place, option, path);
}

std::string about(const Options& options) {
  std::string text = cat("one training step, batch ", options.batch, ", ", options.precision);
  if (options.accumulate > 1) text += cat(", the last of ", options.accumulate, " that add up");
  if (options.checkpoint) text += ", checkpoint at each block";
  return text;
}

}  // namespace

void add_picture_options(CommandLine& app, Options& options) {
  app.add_option("--report", options.report,
                 "Draw the memory of a step in this file: an HTML page for any browser")
      ->check(not_empty());
  app.add_option("--snapshot", options.snapshot,
                 "Write it for pytorch.org/memory_viz to this file; a name in .json gives JSON, "
                 "which that page does not read, any other a pickle")
      ->check(not_empty());
  app.add_option("--trace", options.trace, "Write it for ui.perfetto.dev to this file")
      ->check(not_empty());
}

Pictures::Pictures(const Options& options)
    : options_(options),
      report_(file("--report", options.report)),
      snapshot_(file("--snapshot", options.snapshot)),
      trace_(file("--trace", options.trace)) {
  if (options.captured()) return;
  check<UsageError>(!report_ && !trace_, report_ ? "--report" : "--trace",
                    ": only a captured step has a plan to draw: --mode ", options.mode,
                    ". Use --mode captured, or --snapshot.");
  if (snapshot_) default_pool(device_named(options.device))->keep_history(kEvents);
}

void Pictures::draw_plan(Runner& step, const Metas& inputs, const StepFunction& function,
                         const optim::Accumulation& window) const {
  if (!options_.captured() || (!report_ && !snapshot_ && !trace_)) return;
  const Plan& plan = *step.plan(inputs);
  const Program& program = *step.program(inputs);
  const MemoryTimeline timeline = make_timeline(program, plan);
  if (report_) {
    std::vector<Drawn> runs;
    Step keeping(function, {.variant = [&] { return window.phase(); }});
    if (plan.recompute.budget > 0)
      runs.push_back({"Without recompute", keeping.plan(inputs),
                      make_timeline(keeping.program(inputs), keeping.plan(inputs))});
    runs.push_back({runs.empty() ? "Live bytes" : "Within the budget", plan, timeline});
    report_->write(memory_page(options_.model, about(options_), runs));
  }
  if (snapshot_) write_snapshot(planned_events(timeline, plan));
  if (trace_) {
    const CostModel costs = options_.cost == "model" ? CostModel::model : CostModel::measured;
    const double farness = arena_farness(plan.arena_bytes);
    std::vector<double> seconds;
    for (const Cost& cost : instruction_costs(program, costs)) seconds.push_back(cost.at(farness));
    trace_->write(trace(timeline, seconds).dump());
  }
}

void Pictures::draw_pool(PooledAllocator& pool) {
  if (options_.captured() || !snapshot_ || ++steps_ > kSteps) return;
  write_snapshot(pool.history());
  if (steps_ == kSteps) pool.keep_history(0);
}

void Pictures::write_snapshot(std::span<const MemoryEvent> events) const {
  const Json json = snapshot(events);
  snapshot_->write(options_.snapshot.ends_with(".json") ? json.dump() : pickle(json));
}

}  // namespace plimsoll::examples
