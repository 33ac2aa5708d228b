// What training takes, and what it costs to take less: each model eagerly and captured, with and
// without checkpointing, and under budgets, on the same data from the same weights.
//
//   compare_memory --models lenet,resnet8,gpt --html table.html --json rows.json
//   compare_memory --models gpt --batches 8,16,32,64,128 --precisions f32 --budgets none
//   compare_memory --models resnet8 --precisions f32,bf16,f16 --budgets 50
//
// "planned" was known before the first step, "measured" is the pool's own peak; captured, they are
// equal to the byte. "process" is what the row's own process grew by, and is "within" what was
// planned (eagerly: measured) and 1 % or 16 MiB. "same bits" compares losses and gradients with the
// first row of the same model, batch and type; "time" is in times of that row's. A budget is in
// percent of what the captured step takes.
//
//   compare_memory --models gpt --precisions f32 --ranks 1,2,4,64 --shard 0,3
//   mpirun -n 4 --bind-to none compare_memory --models gpt --ranks 1,2,4 --shard 0,3
//
// Rows of ranks say what each of so many takes: planned by one process, without MPI, and measured
// on all of them where as many were launched (docs/distributed.md).
#include "core/cpu/threads.h"
#include "examples/common/options.h"
#include "examples/common/rank_options.h"
#include "examples/measure/comparison_table.h"
#include "examples/measure/rank_comparison.h"
#include "train/pictures/pages.h"
#include "train/ranks/facts.h"

namespace plimsoll::examples {
namespace {

// The rows: the cross product of all these.
struct Sweep {
  std::vector<std::string> models{"lenet", "resnet8", "gpt"};
  std::vector<int64_t> batches{32};
  std::vector<std::string> precisions = precision_names();
  std::vector<std::string> budgets{"75", "50", "35", "25", "smallest"};
  int steps = 5;
  std::vector<int64_t> ranks, shard{0};  // no ranks: rows of one process
};

// In this order, the first row being what the others are compared with.
std::vector<Case> cases(const std::string& model, int64_t batch, Precision precision,
                        const std::vector<std::string>& budgets) {
  std::vector<Case> all;
  for (const bool captured : {false, true})
    for (const bool checkpoint : {false, true})
      all.push_back({model, batch, precision, captured, checkpoint});
  for (const std::string& budget : budgets)
    if (budget != "none")
      all.push_back({model, batch, precision, true, false,
                     budget == "smallest" ? kSmallest : std::stoi(budget)});
  return all;
}

void compare(const Sweep& sweep, const Options& options) {
  ReportFile report(options.json);
  std::optional<data::OutputFile> page;
  if (!options.report.empty()) page.emplace("--html", options.report);
  const Device device = device_named(options.device);  // each row opens it in its own process
  read_shared_data(sweep.models);
  std::vector<Line> lines;
  std::printf("MiB; %d steps each\n", sweep.steps);
  print_head();
  int failed = 0;
  for (const std::string& model : sweep.models)
    for (const int64_t batch : sweep.batches)
      for (const std::string& precision : sweep.precisions) {
        std::optional<Measured> first;
        for (const Case& c : cases(model, batch, precision_named(precision), sweep.budgets)) {
          Measured row;
          try {
            row = measure(c, device, sweep.steps, options.seed);
          } catch (const UsageError&) {
            throw;  // no row would come
          } catch (const std::exception& e) {
            ++failed;
            print_failed(c, e.what());
            continue;
          }
          if (!first) first = row;
          lines.push_back({c, row, row.ms_per_step / first->ms_per_step,
                           row.digest == first->digest && row.loss == first->loss});
          print_line(lines.back());
        }
      }
  Json rows = Json::array();
  for (const Line& line : lines) rows.push_back(to_json(line));
  report.write(rows);
  if (page) page->write(train::comparison_page(rows, sweep.steps));
  check<Error>(failed == 0, "compare_memory: ", failed,
               " rows could not be measured. See the table; a smaller batch takes less memory.");
  check<StateError>(
      std::ranges::all_of(lines, keeps_promises),
      "compare_memory: a row differs in its bits, its plan from what was measured, or "
      "its budget was not kept. See the table; this is a defect of the engine.");
}

// The launched ranks must make the same rows.
void agree(const Sweep& sweep, train::TrainOptions options) {
  options.same = {{"models", Json(sweep.models).dump()},
                  {"batches", Json(sweep.batches).dump()},
                  {"precisions", Json(sweep.precisions).dump()},
                  {"ranks", Json(sweep.ranks).dump()},
                  {"shard", Json(sweep.shard).dump()},
                  {"steps", cat(sweep.steps)},
                  {"threads", cat(num_threads())}};
  train::RankGroup(options).agree(train::facts_of(options, {}, 0));
}

// Windows are those of the largest number of ranks, which each number shares.
void compare_all_ranks(const Sweep& sweep, const Options& options) {
  const ReportFile report(options.json);
  const int64_t window = std::ranges::max(sweep.ranks);
  for (const int64_t ranks : sweep.ranks)
    check<UsageError>(window % ranks == 0, "--ranks: ", ranks, " ranks do not share windows of ",
                      window, " batches evenly. Use numbers that divide the largest.");
  check<UsageError>(options.ranks == 0 || std::ranges::count(sweep.ranks, options.ranks) > 0,
                    "--ranks: the launcher started ", options.ranks,
                    " processes, and no row is of so many. Add ", options.ranks, " to --ranks.");
  agree(sweep, options);
  std::printf("MiB of each rank; updates of %lld batches, %d updates each\n",
              static_cast<long long>(window), sweep.steps);
  print_rank_head();
  Json rows = Json::array();
  bool kept = true;
  for (const std::string& name : sweep.models)
    for (const int64_t batch : sweep.batches)
      for (const std::string& precision : sweep.precisions) {
        std::optional<uint64_t> digest;  // of the first row that is measured
        FitModel model = shared_model(name, window);
        for (const int64_t ranks : sweep.ranks)  // one alone has nothing to share out
          for (const int64_t shard : ranks == 1 ? std::vector<int64_t>{0} : sweep.shard) {
            model.ranks = ranks;
            model.shard = shard;
            RankRow row = compare_ranks({model, precision_named(precision), batch}, sweep.steps,
                                        options.seed);
            if (!row.measured_bytes.empty()) {
              if (!digest) digest = row.digest;
              row.same_bits = row.digest == *digest;
            }
            print_rank_row(row);
            rows.push_back(to_json(row));
            kept = kept && keeps_ranks_promises(row);
          }
      }
  report.write(rows);
  check<StateError>(kept,
                    "compare_memory: a row differs in its bits, or its plan from what a rank "
                    "measured. See the table; this is a defect of the engine.");
}

// What only rows of one process have, and only those of ranks.
void check_ranks(const CommandLine& app, const Options& options) {
  const bool ranks = app.count("--ranks") > 0;
  check<UsageError>(ranks || options.ranks == 0, "--ranks: the launcher started ", options.ranks,
                    " processes, and no ranks are asked for. Give --ranks ", options.ranks,
                    ", or start one.");
  check<UsageError>(ranks || app.count("--shard") == 0,
                    "--shard: things are shared out among ranks, and there are none. Give --ranks "
                    "too.");
  check<UsageError>(!ranks || app.count("--html") == 0,
                    "--html: the page draws time against memory, and rows of ranks have no time. "
                    "Use --json.");
  check<UsageError>(!ranks || app.count("--budgets") == 0,
                    "--budgets: rows of ranks have none. Leave it out; fit --ranks plans within "
                    "--vram.");
  check<UsageError>(!ranks || options.device == "cpu",
                    "--device: ranks are compared on the CPU: ", options.device, ". Leave it out.");
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  Sweep sweep;
  CommandLine app{
      "Compares what training takes: eager and captured, with and without checkpointing."};
  app.add_option("--models", sweep.models, "Models to compare")
      ->delimiter(',')
      ->check(one_of(comparable_models()))
      ->capture_default_str();
  app.add_option("--batches", sweep.batches, "Examples per step")
      ->delimiter(',')
      ->check(whole_number(1, kLargestBatch))
      ->capture_default_str();
  app.add_option("--precisions", sweep.precisions, "Types that activations are kept in")
      ->delimiter(',')
      ->check(one_of(precision_names()))
      ->capture_default_str();
  app.add_option("--budgets", sweep.budgets,
                 "Budgets in percent of what the captured step takes; smallest: the smallest; none")
      ->delimiter(',')
      ->check(whole_number(1, 100) | one_of({"smallest", "none"}))
      ->capture_default_str();
  app.add_option("--steps", sweep.steps, "Training steps of each row")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  add_device_options(app, options);
  app.add_option("--seed", options.seed, "Seed of weights and data")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the rows to this file")->check(not_empty());
  app.add_option("--html", options.report, "Draw them in this file: an HTML page for any browser")
      ->check(not_empty());
  app.add_option("--ranks", sweep.ranks,
                 "Rows of each of so many processes that train together: planned, and measured "
                 "where mpirun -n started as many")
      ->delimiter(',')
      ->check(whole_number(1, kLargestBatch));
  app.add_option("--shard", sweep.shard, "Stages in which ranks share things out, of 0, 1, 2 and 3")
      ->delimiter(',')
      ->check(whole_number(0, 3));
  if (launched_processes() > 1) options.ranks = launched_processes();
  return run_example(app, argc, argv, options, [&] {
    check_ranks(app, options);
    sweep.ranks.empty() ? compare(sweep, options) : compare_all_ranks(sweep, options);
  });
}
