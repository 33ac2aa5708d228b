// Pictures of a training program's memory: what --report, --snapshot and --trace write.
//
//   add_picture_options(app, options);
//   Pictures pictures(options);                       // refused now, not after the planning
//   pictures.draw_plan(step, metas, train_step(precision), window);
//   if (options.plan_only) return;
//   ... pictures.draw_pool(pool);                     // after each step
#pragma once

#include <optional>

#include "examples/common/options.h"
#include "examples/common/output_file.h"
#include "examples/common/runner.h"
#include "memory/pooled_allocator.h"

namespace plimsoll::examples {

// --report, --snapshot, --trace.
void add_picture_options(CommandLine& app, Options& options);

class Pictures {
 public:
  // UsageError for files that cannot be made, and for --report and --trace in eager mode: what they
  // show is the plan. From now on the pool of an eager run with --snapshot keeps its history.
  explicit Pictures(const Options& options);

  // Of a captured step with such inputs in the phase `window` is in. Under a budget the report
  // shows `function` without one beside it.
  void draw_plan(Runner& step, const Metas& inputs, const StepFunction& function,
                 const optim::Accumulation& window) const;

  // The snapshot of an eager run: what the pool saw in its first two steps, optimizer state made in
  // the first and there in the second. Nothing after those.
  void draw_pool(PooledAllocator& pool);

 private:
  void write_snapshot(std::span<const MemoryEvent> events) const;

  const Options& options_;
  std::optional<OutputFile> report_, snapshot_, trace_;
  int steps_ = 0;
};

}  // namespace plimsoll::examples
