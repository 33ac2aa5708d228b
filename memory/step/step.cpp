#include "memory/step/step.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/cpu/pages.h"
#include "core/engine/apply.h"
#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/passes/joining.h"
#include "memory/recompute/budget.h"
#include "memory/step/difference.h"
#include "memory/step/replay.h"

namespace plimsoll {

struct Step::Captured {
  Captured(OwnBytes own_bytes, Program program, PlannedProgram runs, int64_t others)
      : own(std::move(own_bytes)),
        captured(std::move(program)),
        fitted(std::move(runs)),
        elsewhere(others) {}

  bool is_for(int64_t variant, const Metas& inputs) const {
    return own.variant == variant && own.inputs == inputs;
  }

  const OwnBytes own;
  const Program captured;                // as the function wrote it
  const PlannedProgram fitted;           // as it runs
  int64_t elsewhere;                     // bytes: what is kept alive besides, under a budget
  std::optional<Replay> replay{};        // made by the first run
  std::optional<std::byte*> bound_to{};  // address of the arena
  uint64_t runs = 0;
};

namespace {

// Of `held`, what the program does not use itself.
int64_t bytes_outside(const Program& program, const std::vector<std::shared_ptr<Storage>>& held) {
  int64_t bytes = 0;
  for (const auto& storage : held)
    if (std::ranges::find(program.buffers, storage, &Buffer::storage) == program.buffers.end())
      bytes += block_bytes(storage->bytes());
  return bytes;
}

// Of the constants that the capture itself made.
int64_t constant_bytes(const Program& program, uint64_t first_inside) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::external && buffer.storage->born() >= first_inside)
      bytes += block_bytes(buffer.bytes);
  return bytes;
}

// On a GPU, where a launch costs something, with its updates in fewer of them if that is free.
PlannedProgram joined(PlannedProgram fitted) {
  if (!is_asynchronous(fitted.program.device)) return fitted;
  Program program = update_together(fitted.program, fitted.plan.lower_bound);
  Plan plan = make_plan(program);
  if (plan.arena_bytes > fitted.plan.arena_bytes) return fitted;
  plan.recompute = fitted.plan.recompute;
  return {std::move(program), std::move(plan)};
}

// What costs no time is done always, recompute where a budget asks for it. `elsewhere`: bytes that
// the step's other programs keep alive.
PlannedProgram fitted(const Program& captured, const StepOptions& options, int64_t elsewhere) {
  if (options.budget > 0)
    return joined(BudgetPlanner(captured, options.planning).plan_within(options.budget, elsewhere));
  Program program = update_early(captured);
  const Plan plan = make_plan(program);
  return joined({std::move(program), plan});
}

}  // namespace

Metas Step::metas_of(std::span<const Tensor> inputs) {
  check<StateError>(!Trace::current(),
                    "step: it is called while another step is being captured. "
                    "Call its function instead.");
  Metas metas;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i];
    check<StateError>(tensor.defined(), "step: input ", i,
                      " is undefined. Pass a tensor that was computed.");
    check<StateError>(!tensor.value().storage->is_symbolic(), "step: input ", i,
                      " belongs to a captured step that has ended: ", tensor.meta(),
                      ". Return it from that step instead.");
    check<StateError>(tensor.contiguous(), "step: input ", i, " is not contiguous: ", tensor.meta(),
                      ". Call contiguous() on it first.");
    metas.push_back(tensor.meta());
  }
  return metas;
}

Step::Step(StepFunction function, StepOptions options)
    : function_(std::move(function)), options_(std::move(options)) {
  check<ValueError>(options_.budget >= 0, "step: the budget is negative: ", options_.budget,
                    " bytes. Give the bytes that may be used.");
  check<ValueError>(function_ != nullptr,
                    "step: there is no function to capture: an empty one. Pass one.");
}
Step::~Step() = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(Step&&) noexcept = default;

Step::Captured& Step::find(const Metas& inputs) {
  const int64_t variant = options_.variant ? options_.variant() : 0;
  const auto found =
      std::ranges::find_if(captured_, [&](const auto& c) { return c->is_for(variant, inputs); });
  if (found != captured_.end()) {
    std::rotate(captured_.begin(), found, found + 1);
    return *captured_.front();
  }
  // May throw: nothing changed yet.
  const uint64_t first_inside = Storage::next_born();
  Program program = remove_dead(capture(function_, inputs));
  const Storages held = held_with(program, first_inside);
  OwnBytes own{variant, inputs, constant_bytes(program, first_inside), result_bytes(program)};
  std::vector<OwnBytes> all = own_bytes_with(own);
  const int64_t elsewhere = bytes_elsewhere(program, own, held, all);
  PlannedProgram runs = fitted(program, options_, elsewhere);
  if (has_budget()) return_free_pages();  // the search is done with some MiB of the heap
  auto captured =
      std::make_unique<Captured>(std::move(own), std::move(program), std::move(runs), elsewhere);
  held_.assign(held.begin(), held.end());
  own_bytes_ = std::move(all);
  // Plans that do not fit beside what is new here are made again when they are needed.
  std::erase_if(captured_, [&](const auto& other) {
    other->elsewhere = bytes_elsewhere(other->captured, other->own, held, own_bytes_);
    return room(*other) < 0;
  });
  captured_.insert(captured_.begin(), std::move(captured));
  if (captured_.size() > kPlans) captured_.pop_back();
  return *captured_.front();
}

// Under a budget each program counts what the others keep alive too: what all programs hold, this
// one included.
Step::Storages Step::held_with(const Program& program, uint64_t first_inside) const {
  if (!has_budget()) return {};
  Storages held;
  for (const auto& storage : held_)
    if (auto alive = storage.lock()) held.push_back(std::move(alive));
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::external &&
        buffer.storage->born() < first_inside &&  // else a constant: each capture makes its own
        std::ranges::find(held, buffer.storage) == held.end())
      held.push_back(buffer.storage);
  return held;
}

// A capture makes its constants anew, and a run its results: what counts is how many bytes those of
// each program take. Of programs that are gone the first is forgotten when there are too many.
std::vector<Step::OwnBytes> Step::own_bytes_with(const OwnBytes& own) const {
  if (!has_budget()) return {};
  std::vector<OwnBytes> all = own_bytes_;
  std::erase_if(all, [&](const OwnBytes& other) {
    return other.variant == own.variant && other.inputs == own.inputs;
  });
  if (all.size() > kPlans)  // more than can be captured
    all.erase(std::ranges::find_if(all, [&](const OwnBytes& other) {
      return std::ranges::none_of(
          captured_, [&](const auto& c) { return c->is_for(other.variant, other.inputs); });
    }));
  all.push_back(own);
  return all;
}

// What is kept alive besides what the program's own plan counts: what others hold, their constants,
// and the results of the run before where that may be one of a program with larger ones.
int64_t Step::bytes_elsewhere(const Program& program, const OwnBytes& own, const Storages& held,
                              const std::vector<OwnBytes>& all) {
  if (all.empty()) return 0;  // there is no budget
  int64_t constants = 0, results = 0;
  for (const OwnBytes& of : all) {
    constants += of.constants;
    results = std::max(results, of.results);
  }
  return bytes_outside(program, held) + constants - own.constants + results - own.results;
}

const Plan& Step::plan(const Metas& inputs) { return find(inputs).fitted.plan; }
const Program& Step::program(const Metas& inputs) { return find(inputs).fitted.program; }

std::vector<Tensor> Step::run(std::span<const Tensor> inputs) {
  return run(find(metas_of(inputs)), inputs);
}

Tensor Step::run_one(std::span<const Tensor> inputs) {
  Captured& captured = find(metas_of(inputs));
  check<StateError>(captured.fitted.program.results.size() == 1, "step: the function returned ",
                    captured.fitted.program.results.size(),
                    " tensors where one is asked for. Call run() to get them all.");
  return run(captured, inputs).front();
}

std::vector<Tensor> Step::run(Captured& captured, std::span<const Tensor> inputs) {
  check<StateError>(
      !apply_mode().recomputing,
      "step: a checkpoint is being recomputed, where ops that write in place are left "
      "out. Do not run a Step inside a checkpoint.");
#ifndef NDEBUG
  if (captured.runs > 0 && std::has_single_bit(captured.runs + 1)) recapture(captured);
#endif
  if (!captured.replay)
    captured.replay.emplace(captured.fitted.program, captured.fitted.plan, options_.graph);
  provide_arena(captured);
  std::vector<Tensor> results = captured.replay->run(inputs);
  ++captured.runs;
  return results;
}

void Step::recapture(const Captured& captured) const {
  const Program now = remove_dead(capture(function_, captured.own.inputs));
  const std::string difference = first_difference(captured.captured, now);
  check<StateError>(difference.empty(), "step: run ", captured.runs + 1,
                    " would not be what was captured: ", difference,
                    " changed. Host values are frozen by the capture: make those that change "
                    "tensors.");
}

void Step::release_arena() {
  arena_.reset();
  arena_owner_.reset();
}

// What the budget leaves beside all that the plan counts.
int64_t Step::room(const Captured& captured) const {
  if (!has_budget()) return 0;
  const Plan& plan = captured.fitted.plan;
  return options_.budget - plan.total_bytes() - plan.result_bytes - captured.elsewhere;
}

int64_t Step::arena_bytes(const Captured& captured) const {
  int64_t bytes = 0;
  for (const auto& other : captured_)
    if (other->own.inputs == captured.own.inputs)
      bytes = std::max(bytes, other->fitted.plan.arena_bytes);
  if (!has_budget()) return bytes;
  const int64_t more = room(captured) / kGranule * kGranule;  // else rounded up when it is taken
  return std::min(bytes, captured.fitted.plan.arena_bytes + more);
}

void Step::provide_arena(Captured& captured) {
  const Device device = captured.fitted.program.device;
  const int64_t bytes = arena_bytes(captured);
  auto allocator = current_allocator(device);
  if (!arena_ || arena_->bytes() != bytes || arena_owner_ != allocator) {
    release_arena();  // first: two arenas at once are in no plan
    arena_ = Storage::allocate(device, bytes, MemoryClass::arena, "step");
    arena_owner_ = std::move(allocator);
  }
  if (captured.bound_to == arena_->data()) return;
  captured.replay->bind(arena_->data());
  captured.bound_to = arena_->data();
}

}  // namespace plimsoll
