// Replay: a program bound to addresses. All views and calls are built once; a run writes the
// addresses of the inputs where they are needed and calls one kernel after another.
//
//   Replay replay(program, plan);
//   replay.bind(arena);                // plan.arena_bytes bytes, on a kGranule boundary
//   auto results = replay.run(inputs); // fresh tensors
//
// On a GPU all calls become one graph, which the host starts at once. It has every address in it,
// and a training loop that takes its batches from a pool finds them at the same few addresses again
// and again: for inputs that come to lie where others did before, the calls are recorded. The first
// time they run one by one, which loads kernels and makes the plans of libraries. A program that
// communicates with other ranks is no graph: its calls are made one by one.
#pragma once

#include "core/cuda/seam/cuda_queue.h"
#include "core/engine/apply.h"
#include "memory/layout/plan.h"

namespace plimsoll {

class Replay {
 public:
  static constexpr size_t kGraphs = 4;  // kept, those used last

  // Both must outlive it. Without `graph` the calls are made one by one on a GPU too. DeviceError
  // when a kernel is missing in this build.
  Replay(const Program& program, const Plan& plan, bool graph = false);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Resolves every address that does not change from run to run. StateError for a parameter of
  // which other ranks have parts.
  void bind(std::byte* arena);
  // Whether that was done with this arena, and what lies outside of it has not moved since, as
  // parameters do when ranks begin to share them out.
  bool is_bound_to(const std::byte* arena) const;

  // `inputs` have the metas of the program's inputs and are contiguous. The results are allocated
  // before the first kernel runs, so OutOfMemory changes nothing. NumericError naming the op under
  // apply_mode().check_finite, unless a FirstNonfinite takes it.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  // Runs once, each instruction by itself, and says how many seconds it took: those that do nothing
  // 0. The state is what run() leaves; results are dropped and never checked.
  std::vector<double> seconds_of_each(std::span<const Tensor> inputs);

 private:
  struct Bound {  // one instruction with its kernel and addresses
    Kernel kernel;
    Call call;
    int instruction;
  };
  struct Recorded {  // all calls, for inputs that lie there
    std::vector<const void*> inputs;
    CudaGraph graph;  // empty: seen once, recorded when they come again
  };
  struct External {  // where it lay
    const Storage* storage;
    const std::byte* data;
  };
  struct Patch {  // an operand that looks into an input
    int input;
    const Operand* operand;
    View* view;
  };

  void bind_kernels();
  std::span<const View> add_views(const std::vector<Operand>& operands);
  void check_shared(std::span<const Tensor> inputs) const;
  void patch_inputs(std::span<const Tensor> inputs);
  void note_mutations(std::span<const Tensor> inputs);
  void prepare(std::span<const Tensor> inputs);
  void run_checked();
  void run_calls() const;
  void run_as_graph(std::span<const Tensor> inputs);

  const Program& program_;
  const Plan& plan_;
  std::vector<View> views_;               // of all operands; never grows after construction
  std::vector<const Operand*> operands_;  // what each looks at
  std::vector<Bound> bound_;
  std::span<const View> results_;
  std::vector<Patch> patches_;
  std::optional<const std::byte*> arena_;  // that it is bound to
  std::vector<External> externals_;
  std::vector<int> mutated_;  // externals and inputs that are written in place
  bool graph_;
  std::vector<Recorded> recorded_;
};

}  // namespace plimsoll
