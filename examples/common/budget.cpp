#include "examples/common/budget.h"
#include "memory/step/passes.h"

#include <algorithm>
#include <set>

namespace plimsoll::examples {
namespace {

Check budget() {
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

// The smallest budget for programs that run one after another, while all that is outside of any of
// them stays.
int64_t smallest_for(const std::vector<Program>& programs, const BudgetOptions& planning) {
  std::set<const Storage*> outside;
  int64_t pinned = 0, most = 0, results = 0;
  for (const Program& program : programs) results = std::max(results, result_bytes(program));
  for (const Program& program : programs) {
    int64_t own = 0;
    for (const Buffer& buffer : program.buffers) {
      if (buffer.kind != Buffer::Kind::external) continue;
      own += block_bytes(buffer.bytes);
      if (outside.insert(buffer.storage.get()).second) pinned += block_bytes(buffer.bytes);
    }
    most = std::max(
        most, budget_planner(program, planning).smallest() - own + results - result_bytes(program));
  }
  return pinned + most;
}

}  // namespace

void add_budget_options(CommandLine& app, Options& options) {
  app.add_option("--budget", options.budget,
                 "Bytes that training may hold, as in 300MiB; auto: what is free")
      ->check(budget());
  app.add_flag("--plan-only", options.plan_only, "Print the plan and stop before the first step")
      ->configurable(false);
  app.add_option("--plan-seconds", options.plan_seconds,
                 "How long to search for what to recompute, in seconds of a core of 2025")
      ->check(plan_seconds())
      ->capture_default_str();
  app.add_option("--cost", options.cost,
                 "What recompute is weighed by: measured times, or a model that is the same "
                 "everywhere")
      ->check(one_of({"measured", "model"}))
      ->capture_default_str();
}

Budget::Budget(const Options& options, PooledAllocator& pool) : options_(options), pool_(pool) {
  if (options.plan_only || !options.budget.empty())
    check<UsageError>(options.captured(), options.plan_only ? "--plan-only" : "--budget",
                      ": only a captured step is planned: --mode ", options.mode,
                      ". Use --mode captured.");
  if (options.budget.empty()) return;
  const Provider memory = provider_of(pool.device());
  bytes_ = options.budget == "auto" ? memory.available() : parse_bytes(options.budget);
  // A limit that nothing meets: what is cut before there is one would stay cut.
  pool_.set_limit(PooledAllocator::kUnlimited - 1);
}

StepOptions Budget::step_options(int64_t host_bytes) {
  host_bytes_ = host_bytes;
  return {.budget = step_budget(), .planning = planning(options_), .graph = !options_.no_graph};
}

int64_t Budget::host_share() const { return pool_.device() == Device::cpu ? host_bytes_ : 0; }

int64_t Budget::step_budget() const {
  return bytes_ == StepOptions::kNoBudget ? bytes_ : std::max<int64_t>(1, bytes_ - host_share());
}

Planned Budget::plan(Runner& step, const Workload& work, std::span<const Tensor> parameters,
                     optim::Accumulation& window, const Functions& functions) {
  const std::string host = bytes_text(host_bytes_);
  try {
    const Planned planned = step.plan_all(work, window);
    if (bytes_ == StepOptions::kNoBudget) {
      if (options_.captured() && host_bytes_ > 0)
        std::printf("  batches in preparation take %s of host memory besides\n", host.c_str());
      return planned;
    }
    std::string inside = cat("  evaluation takes ", bytes_text(planned.evaluation), " of it");
    std::string outside = cat("; outside of it are ", bytes_text(work.data_bytes), " of data");
    if (host_bytes_ > 0)
      (host_share() > 0 ? inside : outside) += cat(", and batches in preparation ", host);
    std::printf("%s%s\n", inside.c_str(), outside.c_str());
    pool_.set_limit(bytes_ - host_share());
    return planned;
  } catch (const BudgetError&) {
    const int64_t smallest = smallest_for(step.capture_all(work, window), planning(options_));
    fail<UsageError>("--budget ", options_.budget, ": it is too small: ", bytes_,
                     " bytes, and the smallest plan found takes ", smallest + host_share(),
                     host_share() > 0 ? cat(" with batches in preparation of ", host) : "",
                     ". Allow that many, or search longer.",
                     advice(work, parameters, window, functions));
  }
}

std::string Budget::advice(const Workload& work, std::span<const Tensor> parameters,
                           optim::Accumulation& window, const Functions& functions) const {
  const auto fits = [&](int64_t batch, int64_t accumulate, const std::string& precision) {
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
    const Precision type = precision_named(precision);
    const auto& [train, evaluate, with_gradients] = functions;
    Runner shorter(train(type), /*captured=*/true, {}, &window, evaluate(type),
                   with_gradients(type));
    return smallest_for(shorter.capture_all(fewer, window),
                        {.costs = CostModel::model, .search_seconds = 0.2}) <=
           bytes_ - host_share() / options_.batch * batch;
  };
  // The first of the batches, which shrink, that fits; 0: none does.
  const auto largest = [](const std::vector<int64_t>& batches, const auto& fits_one) {
    const auto found =
        std::ranges::partition_point(batches, [&](int64_t batch) { return !fits_one(batch); });
    return found == batches.end() ? int64_t{0} : *found;
  };
  const int64_t batch = options_.batch, accumulate = options_.accumulate;
  std::vector<int64_t> halves, shares;  // the shares divide the batch
  for (int64_t half = batch / 2; half > 0; half /= 2) halves.push_back(half);
  for (int64_t parts = 2; parts <= batch; ++parts)
    if (batch % parts == 0) shares.push_back(batch / parts);
  std::vector<std::string> ways;
  const int64_t smaller =
      largest(halves, [&](int64_t b) { return fits(b, accumulate, options_.precision); });
  if (smaller > 0) ways.push_back(cat("--batch ", smaller));
  const auto sum_fits = [&](int64_t b) {
    return fits(b, accumulate * (batch / b), options_.precision);
  };
  if (const int64_t share = largest(shares, sum_fits))
    ways.push_back(cat("--batch ", share, " --accumulate ", accumulate * (batch / share),
                       " (as many examples an update)"));
  if (options_.precision == "f32") {
    halves.insert(halves.begin(), batch);
    const int64_t shorter = largest(halves, [&](int64_t b) { return fits(b, accumulate, "bf16"); });
    if (shorter > smaller)
      ways.push_back(cat("--precision bf16", shorter < batch ? cat(" --batch ", shorter) : ""));
  }
  if (ways.empty()) return " No smaller batch fits either.";
  std::string text = " By a short search it would do with ";
  for (size_t i = 0; i < ways.size(); ++i)
    text += cat(i == 0 ? "" : (i + 1 < ways.size() ? ", " : " or "), ways[i]);
  return text + ".";
}

}  // namespace plimsoll::examples
