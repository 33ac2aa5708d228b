// What training takes, and what it costs to take less: each model eagerly and captured, with and
// without checkpointing, and under budgets, on the same data from the same weights.
//
//   compare_memory --models lenet,resnet8,gpt --batches 32,128 --json rows.json
//   compare_memory --models gpt --batches 128 --budgets 75,50,25,smallest --precisions f32,bf16
//
// "planned" was known before the first step, "measured" is the pool's own peak; captured, they are
// equal to the byte. "same bits" compares losses and gradients with the first row of the same model,
// batch and type; "time" is that row's too. A budget is in percent of what the captured step takes.
#include "examples/common/comparison.h"
#include "examples/common/options.h"
#include "examples/common/report.h"
#include "memory/bytes.h"

namespace plimsoll::examples {
namespace {

const char* name_of(Precision precision) {
  return precision_names()[static_cast<size_t>(precision)].c_str();
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void print_head() {
  std::printf("%-8s %5s %-5s %-8s %-10s %9s %9s %9s | %8s %8s %8s %8s %8s | %8s %5s %10s %s\n",
              "model", "batch", "type", "mode", "saving", "planned", "measured", "at least",
              "params", "grads", "optim.", "activ.", "other", "ms/step", "time", "loss",
              "same bits");
}

std::string saving(const Case& c) {
  if (c.checkpoint) return "checkpoint";
  return c.share == 0 ? "none" : c.share == kSmallest ? "smallest" : cat("to ", c.share, " %");
}

void print_row(const Row& row, double time, bool same_bits) {
  if (row.refused) {
    std::printf("%-8s %5lld %-5s %-8s %-10s %9.2f is less than any plan found\n",
                row.c.model.c_str(), static_cast<long long>(row.c.batch), name_of(row.c.precision),
                "captured", saving(row.c).c_str(), mebibytes(row.budget_bytes));
    return;
  }
  const auto bytes = [&](MemoryClass c) { return row.at_peak[static_cast<size_t>(c)]; };
  const int64_t other = bytes(MemoryClass::workspace) + bytes(MemoryClass::input);
  char planned[16] = "-", least[16] = "-";
  if (row.c.captured) {
    std::snprintf(planned, sizeof planned, "%.2f", mebibytes(row.planned_bytes));
    std::snprintf(least, sizeof least, "%.2f", mebibytes(row.lower_bound_bytes));
  }
  std::printf(
      "%-8s %5lld %-5s %-8s %-10s %9s %9.2f %9s | %8.2f %8.2f %8.2f %8.2f %8.2f | %8.2f %5.2f "
      "%10.6f "
      "%s\n",
      row.c.model.c_str(), static_cast<long long>(row.c.batch), name_of(row.c.precision),
      row.c.captured ? "captured" : "eager", saving(row.c).c_str(), planned,
      mebibytes(row.measured_bytes), least, mebibytes(bytes(MemoryClass::parameter)),
      mebibytes(bytes(MemoryClass::gradient)), mebibytes(bytes(MemoryClass::optimizer)),
      mebibytes(bytes(MemoryClass::activation)), mebibytes(other), row.ms_per_step, time, row.loss,
      same_bits ? "yes" : "NO");
  std::fflush(stdout);
}

Json to_json(const Row& row, double time, bool same_bits) {
  Json classes;
  for (int c = 0; c < kMemoryClasses; ++c)
    classes[name_of(static_cast<MemoryClass>(c))] = row.at_peak[static_cast<size_t>(c)];
  return {{"model", row.c.model},
          {"batch", row.c.batch},
          {"precision", name_of(row.c.precision)},
          {"mode", row.c.captured ? "captured" : "eager"},
          {"checkpoint", row.c.checkpoint},
          {"budget_bytes", row.budget_bytes > 0 ? Json(row.budget_bytes) : Json()},
          {"refused", row.refused},
          {"planned_bytes", row.c.captured ? Json(row.planned_bytes) : Json()},
          {"measured_bytes", row.measured_bytes},
          {"lower_bound_bytes", row.c.captured ? Json(row.lower_bound_bytes) : Json()},
          {"at_peak_bytes", classes},
          {"ms_per_step", row.ms_per_step},
          {"time_ratio", time},
          {"loss", row.loss},
          {"gradient_digest", cat(row.digest)},
          {"same_bits", same_bits}};
}

// In this order, the first row being what the others are compared with.
std::vector<Case> cases(const std::string& model, int64_t batch, Precision precision,
                        const std::vector<int>& shares) {
  std::vector<Case> all;
  for (const bool captured : {false, true})
    for (const bool checkpoint : {false, true})
      all.push_back({model, batch, precision, captured, checkpoint});
  for (const int share : shares) all.push_back({model, batch, precision, true, false, share});
  return all;
}

void compare(const std::vector<std::string>& models, const std::vector<int64_t>& batches,
             const std::vector<std::string>& precisions, const std::vector<int>& shares, int steps,
             const Options& options) {
  ReportFile report(options.json);
  device_named(options.device);
  Json rows = Json::array();
  bool all_equal = true;
  std::printf("MiB; %d steps each\n", steps);
  print_head();
  for (const std::string& model : models)
    for (const int64_t batch : batches)
      for (const std::string& precision : precisions) {
        std::optional<Row> first;
        for (const Case& c : cases(model, batch, precision_named(precision), shares)) {
          const Row row = measure(c, steps, options.seed);
          if (!first) first = row;
          const bool same = row.refused || (row.digest == first->digest && row.loss == first->loss);
          const bool exact = !c.captured || row.planned_bytes == row.measured_bytes;
          const bool kept = row.budget_bytes == 0 || row.measured_bytes <= row.budget_bytes;
          all_equal = all_equal && same && exact && kept;
          const double time = row.ms_per_step / first->ms_per_step;
          print_row(row, time, same);
          rows.push_back(to_json(row, time, same));
        }
      }
  report.write(rows);
  check<StateError>(
      all_equal,
      "compare_memory: a row differs in its bits, its plan from what was measured, or "
      "its budget was not kept. See the table; this is a defect of the engine.");
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  std::vector<std::string> models{"lenet", "resnet8", "gpt"};
  std::vector<int64_t> batches{32, 128};
  std::vector<std::string> precisions{"f32"}, budgets{"75", "50", "smallest"};
  int steps = 5;
  CLI::App app{"Compares what training takes: eager and captured, with and without checkpointing."};
  app.add_option("--models", models, "Models to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(comparable_models()))
      ->capture_default_str();
  app.add_option("--batches", batches, "Examples per step")
      ->delimiter(',')
      ->check(whole_number(1, kLargestBatch))
      ->capture_default_str();
  app.add_option("--precisions", precisions, "Types that activations are kept in")
      ->delimiter(',')
      ->check(CLI::IsMember(precision_names()))
      ->capture_default_str();
  app.add_option("--budgets", budgets,
                 "Budgets in percent of what the captured step takes; smallest: the smallest; none")
      ->delimiter(',')
      ->check(whole_number(1, 100) | CLI::IsMember({"smallest", "none"}))
      ->capture_default_str();
  app.add_option("--steps", steps, "Training steps of each row")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--device", options.device, "cpu")->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads; 0: one per core")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of weights and data")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the rows to this file")->check(not_empty());
  return run_example(app, argc, argv, options, [&] {
    std::vector<int> shares;
    for (const std::string& budget : budgets)
      if (budget != "none") shares.push_back(budget == "smallest" ? kSmallest : std::stoi(budget));
    compare(models, batches, precisions, shares, steps, options);
  });
}
