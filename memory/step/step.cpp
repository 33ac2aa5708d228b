#include "memory/step/step.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/cpu/pages.h"
#include "core/engine/apply.h"
#include "memory/step/difference.h"
#include "memory/step/passes.h"
#include "memory/step/replay.h"

namespace plimsoll {

struct Step::Entry {
  Entry(SharedBytes::Own own_bytes, Program program, PlannedProgram runs, int64_t others)
      : own(std::move(own_bytes)),
        captured(std::move(program)),
        planned(std::move(runs)),
        elsewhere(others) {}

  const SharedBytes::Own own;
  const Program captured;          // as the function wrote it
  const PlannedProgram planned;    // as it runs
  int64_t elsewhere;               // bytes: what is kept alive besides, under a budget
  std::optional<Replay> replay{};  // made by the first run
  uint64_t runs = 0;
};

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

// The program for such inputs in the variant of now, captured and planned if it is new; in front of
// all others.
Step::Entry& Step::entry_for(const Metas& inputs) {
  const int64_t variant = options_.variant ? options_.variant() : 0;
  if (Entry* known = find(variant, inputs)) return *known;
  entries_.insert(entries_.begin(), capture_and_plan(variant, inputs));
  drop_what_no_longer_fits();
  if (entries_.size() > kPlans) entries_.pop_back();
  return *entries_.front();
}

Step::Entry* Step::find(int64_t variant, const Metas& inputs) {
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& c) { return c->own.is_for(variant, inputs); });
  if (found == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), found, found + 1);
  return entries_.front().get();
}

// Whatever it throws, nothing has changed.
std::unique_ptr<Step::Entry> Step::capture_and_plan(int64_t variant, const Metas& inputs) {
  const uint64_t first_inside = Storage::next_born();
  Program program = capture_live(function_, inputs);
  SharedBytes::Own own{variant, inputs, constant_bytes(program, first_inside),
                       result_bytes(program)};
  SharedBytes shared = shared_;
  int64_t elsewhere = 0;
  if (has_budget()) {
    shared.add(program, first_inside, own, [&](const SharedBytes::Own& other) {
      return std::ranges::any_of(
          entries_, [&](const auto& c) { return c->own.is_for(other.variant, other.inputs); });
    });
    elsewhere = shared.elsewhere(program, own);
  }
  PlannedProgram runs = plan_step(
      program, {.bytes = options_.budget, .elsewhere = elsewhere, .planning = options_.planning});
  if (has_budget()) return_free_pages();  // the search is done with some MiB of the heap
  auto entry =
      std::make_unique<Entry>(std::move(own), std::move(program), std::move(runs), elsewhere);
  shared_ = std::move(shared);
  return entry;
}

// Under a budget plans that do not fit beside the new one are made again when they are needed.
void Step::drop_what_no_longer_fits() {
  if (!has_budget()) return;
  for (const auto& each : entries_) each->elsewhere = shared_.elsewhere(each->captured, each->own);
  entries_.erase(std::remove_if(entries_.begin() + 1, entries_.end(),
                                [&](const auto& other) { return room(*other) < 0; }),
                 entries_.end());
}

const Plan& Step::plan(const Metas& inputs) { return entry_for(inputs).planned.plan; }

const Program& Step::program(const Metas& inputs) { return entry_for(inputs).planned.program; }

std::vector<Tensor> Step::run(std::span<const Tensor> inputs) {
  return run(entry_for(metas_of(inputs)), inputs);
}

Tensor Step::run_one(std::span<const Tensor> inputs) {
  Entry& entry = entry_for(metas_of(inputs));
  check<StateError>(entry.planned.program.results.size() == 1, "step: the function returned ",
                    entry.planned.program.results.size(),
                    " tensors where one is asked for. Call run() to get them all.");
  return run(entry, inputs).front();
}

std::vector<Tensor> Step::run(Entry& entry, std::span<const Tensor> inputs) {
  check<StateError>(
      !apply_mode().recomputing,
      "step: a checkpoint is being recomputed, where ops that write in place are left "
      "out. Do not run a Step inside a checkpoint.");
#ifndef NDEBUG
  if (entry.runs > 0 && std::has_single_bit(entry.runs + 1)) recapture(entry);
#endif
  if (!entry.replay)
    entry.replay.emplace(entry.planned.program, entry.planned.plan, options_.graph);
  provide_arena(entry);
  std::vector<Tensor> results = entry.replay->run(inputs);
  ++entry.runs;
  return results;
}

void Step::recapture(const Entry& entry) const {
  const Program now = capture_live(function_, entry.own.inputs);
  const std::string difference = first_difference(entry.captured, now);
  check<StateError>(difference.empty(), "step: run ", entry.runs + 1,
                    " would not be what was captured: ", difference,
                    " changed. Host values are frozen by the capture: make those that change "
                    "tensors.");
}

void Step::release_arena() {
  arena_.reset();
  arena_owner_.reset();
}

// What the budget leaves beside all that the plan counts.
int64_t Step::room(const Entry& entry) const {
  if (!has_budget()) return 0;
  const Plan& plan = entry.planned.plan;
  return options_.budget - plan.total_bytes() - plan.result_bytes - entry.elsewhere;
}

int64_t Step::arena_bytes(const Entry& entry) const {
  int64_t bytes = 0;
  for (const auto& other : entries_)
    if (other->own.inputs == entry.own.inputs)
      bytes = std::max(bytes, other->planned.plan.arena_bytes);
  if (!has_budget()) return bytes;
  const int64_t more = room(entry) / kGranule * kGranule;  // else rounded up when it is taken
  return std::min(bytes, entry.planned.plan.arena_bytes + more);
}

void Step::provide_arena(Entry& entry) {
  const Device device = entry.planned.program.device;
  const int64_t bytes = arena_bytes(entry);
  auto allocator = current_allocator(device);
  if (!arena_ || arena_->bytes() != bytes || arena_owner_ != allocator) {
    release_arena();  // first: two arenas at once are in no plan
    arena_ = Storage::allocate(device, bytes, MemoryClass::arena, "step");
    arena_owner_ = std::move(allocator);
  }
  if (!entry.replay->is_bound_to(arena_->data())) entry.replay->bind(arena_->data());
}

}  // namespace plimsoll
