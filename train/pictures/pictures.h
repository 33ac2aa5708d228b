// Pictures of a training's memory, into the files that TrainOptions::report, ::snapshot and ::trace
// name.
//
//   Pictures pictures(options);                       // refused now, not after the planning
//   pictures.draw_plan(step, metas, train_step(precision), window);
//   if (options.plan_only) return;
//   ... pictures.draw_pool(pool);                     // after each step
#pragma once

#include <optional>

#include "data/output_file.h"
#include "memory/pool/pooled_allocator.h"
#include "train/options.h"
#include "train/runner.h"

namespace plimsoll::train {

// Before the first tensor: the pool of an eager run with a snapshot keeps its history.
void keep_history(const TrainOptions& options, PooledAllocator& pool);

class Pictures {
 public:
  // UsageError for files that cannot be made, and for report and trace of an eager run: what they
  // show is the plan.
  explicit Pictures(const TrainOptions& options);

  // Of a captured step with such inputs in the phase `window` is in. The report shows it
  // over the same step without recompute, or where there is none, within the smallest budget.
  void draw_plan(Runner& step, const Metas& inputs, const StepFunction& function,
                 const optim::Accumulation& window) const;

  // The snapshot of an eager run: what the pool saw in its first two steps, optimizer state made in
  // the first and there in the second. Nothing after those.
  void draw_pool(PooledAllocator& pool);

 private:
  void write_snapshot(std::span<const MemoryEvent> events) const;

  const TrainOptions& options_;
  std::optional<data::OutputFile> report_, snapshot_, trace_;
  int steps_ = 0;
};

}  // namespace plimsoll::train
