#include "train/budget.h"

#include <algorithm>
#include <set>

#include "core/cpu/parallel.h"
#include "core/ranks/ranks.h"
#include "memory/step/passes.h"

namespace plimsoll::train {
namespace {

constexpr auto kNoSmallerBatch = " No smaller batch fits either.";

// What programs hold all the time, each storage once: parameters, and what the optimizer has.
int64_t held_by(const std::vector<Program>& programs) {
  std::set<const Storage*> seen;
  int64_t bytes = 0;
  for (const Program& program : programs)
    for (const Buffer& buffer : program.buffers)
      if (buffer.kind == Buffer::Kind::external && seen.insert(buffer.storage.get()).second)
        bytes += block_bytes(buffer.bytes);
  return bytes;
}

struct OneThread {
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(before); }
  const int before = num_threads();
};

// On the CPU the process has more than is planned: code, heap and the planner, and for each thread
// a stack and the operands that it packs (docs/budget.md).
int64_t all_but_outside(int64_t available, Device device) {
  if (device != Device::cpu) return available;
  constexpr int64_t kProcess = int64_t{16} << 20, kThread = int64_t{10} << 20;
  constexpr int64_t kHelpers = 2;  // one that prepares batches, one that saves
  return available - std::max(kProcess, available / 100) - (num_threads() + kHelpers) * kThread;
}

}  // namespace

int64_t smallest_budget(const std::vector<Program>& programs, const BudgetOptions& planning) {
  const int64_t held = held_by(programs);
  int64_t most = 0, results = 0;
  for (const Program& program : programs) results = std::max(results, result_bytes(program));
  for (const Program& program : programs) {
    int64_t elsewhere = held + results - result_bytes(program);
    for (const Buffer& buffer : program.buffers)
      if (buffer.kind == Buffer::Kind::external) elsewhere -= block_bytes(buffer.bytes);
    most = std::max(most, elsewhere + budget_planner(program, planning).smallest());
  }
  return most;
}

void make_exact(PooledAllocator& pool) { pool.set_limit(PooledAllocator::kUnlimited - 1); }

Budget::Budget(const TrainOptions& options, PooledAllocator& pool, int64_t host_bytes,
               int64_t processes)
    : options_(options), pool_(pool), limit_before_(pool.limit()), host_bytes_(host_bytes) {
  if (options.budget == TrainOptions::kNoBudget && !options.plan_only) return;
  check<UsageError>(options.captured, "train: only a captured step is planned, and this one is ",
                    "eager. Leave ", options.plan_only ? "plan_only" : "the budget",
                    " out, or capture it.");
  if (options.budget == TrainOptions::kNoBudget) return;
  bytes_ = options.budget;
  if (bytes_ == TrainOptions::kWhatIsFree) {
    const int64_t sharing = pool.device() == Device::cpu ? processes : 1;  // a GPU has one
    bytes_ = all_but_outside(provider_of(pool.device()).available() / sharing, pool.device()) +
             pool.stats().reserved;
  }
  if (Ranks* const ranks = Ranks::current(); ranks && options.shard == 3)
    bytes_ = std::ranges::min(gathered(*ranks, bytes_));  // all plan alike
  check<ValueError>(bytes_ > 0, "train: a budget has to have bytes: ", bytes_,
                    ". Allow as many as training may take.");
  pool_.trim();
  cut_ = pool_.stats().free;
  make_exact(pool_);
}

Budget::~Budget() {
  if (bytes_ != StepOptions::kNoBudget) pool_.set_limit(limit_before_);
}

StepOptions Budget::step_options() const {
  return {.budget = step_budget(), .planning = options_.planning, .graph = options_.graph};
}

int64_t Budget::host_share() const { return pool_.device() == Device::cuda ? 0 : host_bytes_; }

int64_t Budget::step_budget() const {
  return bytes_ == StepOptions::kNoBudget ? bytes_
                                          : std::max<int64_t>(1, bytes_ - host_share() - cut_);
}

Planned Budget::plan(Runner& step, const Workload& work, std::span<const Tensor> parameters,
                     optim::Accumulation& window, const Functions& functions) {
  const std::string host = bytes_text(host_bytes_);
  check_held(step, work, window);
  try {
    const Planned planned = step.plan_all(work, window);
    if (bytes_ == StepOptions::kNoBudget) {
      if (options_.captured && host_bytes_ > 0)
        std::printf("  batches in preparation take %s of host memory besides\n", host.c_str());
      return planned;
    }
    std::string inside = cat("  budget ", bytes_, " bytes, of which ", step_budget(),
                             " for the step; evaluation takes ", bytes_text(planned.evaluation));
    std::string outside = cat("; outside of it are ", bytes_text(work.data_bytes), " of data");
    if (host_bytes_ > 0)
      (host_share() > 0 ? inside : outside) += cat(", and batches in preparation ", host);
    std::printf("%s%s\n", inside.c_str(), outside.c_str());
    pool_.set_limit(bytes_ - host_share());
    return planned;
  } catch (const BudgetError&) {
    const std::vector<Program> programs = step.capture_all(work, window);  // of this window
    refuse(programs, advice(work, parameters, window, functions));
  }
}

void Budget::check_held(Runner& step, const Workload& work, optim::Accumulation& window) const {
  if (bytes_ == StepOptions::kNoBudget) return;
  const std::vector<Program> programs = step.capture_all(work, window);
  if (held_by(programs) > room(work, 1)) refuse(programs, kNoSmallerBatch);
}

// What a step of so many examples may take, and not of the batch of `work`.
int64_t Budget::room(const Workload& work, int64_t examples) const {
  const int64_t batch = work.inputs[0].shape[0];
  return bytes_ - cut_ - (host_share() * examples + batch - 1) / batch;
}

void Budget::refuse(const std::vector<Program>& programs, const std::string& advice) const {
  const int64_t smallest = smallest_budget(programs, options_.planning);
  fail<UsageError>("train: the budget is too small: ", bytes_,
                   " bytes, and the smallest plan found takes ", smallest + host_share() + cut_,
                   host_share() > 0
                       ? cat(", ", bytes_text(host_bytes_), " of it for batches in preparation")
                       : "",
                   ". Allow that many, or search longer.", advice);
}

std::string Budget::advice(const Workload& work, std::span<const Tensor> parameters,
                           optim::Accumulation& window, const Functions& functions) const {
  if (window.shared()) return "";  // another batch would be another window of all ranks
  const auto fits = [&](int64_t batch, int64_t accumulate, Precision precision) {
    Workload fewer = work;
    for (Metas* metas : {&fewer.inputs, &fewer.evaluation.front()})
      (*metas)[0].shape[0] = (*metas)[1].shape[0] = batch;
    fewer.evaluation.resize(1);
    fewer.windows = {accumulate};
    try {
      window = optim::Accumulation(parameters, accumulate);
    } catch (const OutOfMemory&) {
      return false;
    }
    const auto& [train, evaluate, with_gradients] = functions;
    Runner shorter(train(precision), /*captured=*/true, {}, &window, evaluate(precision),
                   with_gradients(precision));
    return smallest_budget(shorter.capture_all(fewer, window),
                           {.costs = CostModel::model, .search_seconds = 0.1}) <= room(work, batch);
  };
  // The first of the batches, which shrink, that fits; 0: none does.
  const auto largest = [](const std::vector<int64_t>& batches, const auto& fits_one) {
    const auto found =
        std::ranges::partition_point(batches, [&](int64_t batch) { return !fits_one(batch); });
    return found == batches.end() ? int64_t{0} : *found;
  };
  const int64_t batch = work.inputs[0].shape[0], accumulate = options_.accumulate;
  std::vector<int64_t> halves, shares;  // the shares divide the batch
  for (int64_t half = batch / 2; half > 0; half /= 2) halves.push_back(half);
  for (int64_t parts = 2; parts <= batch; ++parts)
    if (batch % parts == 0) shares.push_back(batch / parts);
  std::vector<std::string> ways;
  const int64_t smaller =
      largest(halves, [&](int64_t b) { return fits(b, accumulate, options_.precision); });
  if (smaller > 0) ways.push_back(cat("a batch of ", smaller));
  const auto sum_fits = [&](int64_t b) {
    return fits(b, accumulate * (batch / b), options_.precision);
  };
  if (const int64_t share = largest(shares, sum_fits))
    ways.push_back(cat("a batch of ", share, " accumulated ", accumulate * (batch / share),
                       " times (as many examples an update)"));
  if (options_.precision == Precision::f32) {
    halves.insert(halves.begin(), batch);
    const int64_t shorter =
        largest(halves, [&](int64_t b) { return fits(b, accumulate, Precision::bf16); });
    if (shorter > smaller)
      ways.push_back(cat("bf16", shorter < batch ? cat(" and a batch of ", shorter) : ""));
  }
  if (pool_.device() == Device::cpu && num_threads() > 1) {
    const OneThread scope;  // workspaces are for the threads that a program is captured with
    if (fits(batch, accumulate, options_.precision)) ways.emplace_back("one thread");
  }
  if (ways.empty()) return kNoSmallerBatch;
  std::string text = " By a short search it would do with ";
  for (size_t i = 0; i < ways.size(); ++i)
    text += cat(i == 0 ? "" : (i + 1 < ways.size() ? ", " : " or "), ways[i]);
  return text + ".";
}

}  // namespace plimsoll::train
