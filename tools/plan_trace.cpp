// plan_trace: what to compute again so that a sequence of ops fits into less memory.
//
//   plan_trace --input step.trace --budget-ratio 0.5 --output step.plan
//   check_trace --input step.trace --plan step.plan --budget-ratio 0.5
//
// The ratio is of the most bytes alive when everything is kept, inputs aside. Exit code: 0 a plan
// was written; 1 none was found, and nothing was written; 2 bad input. docs/traces.md has the
// forms.
#include <chrono>
#include <iostream>

#include "core/base/error.h"
#include "data/output_file.h"
#include "examples/common/command_line.h"
#include "memory/recompute/certificate.h"
#include "memory/recompute/search.h"
#include "tools/trace_file.h"

namespace plimsoll::tools {
namespace {

using namespace recompute;

struct Options {
  std::string input, output;
  double ratio = 1, seconds = 2;
};

// The schedule as lines `run NUMBER`, `again NUMBER`, and `free STORAGE` behind the last run that
// uses what was made.
std::string plan_text(const OpTrace& trace, const Schedule& schedule) {
  std::vector<int> last_run(trace.storages.size());  // that uses the newest copy
  std::vector<std::vector<int>> freed(schedule.size());
  std::vector<bool> there(trace.storages.size());
  for (int r = 0; r < std::ssize(schedule); ++r) {
    for (const int storage : trace.problem.ops[schedule[r].op].reads) last_run[storage] = r;
    for (const int storage : schedule[r].made) {
      if (there[storage]) freed[last_run[storage]].push_back(storage);
      there[storage] = true;
      last_run[storage] = r;
    }
  }
  for (int s = 0; s < std::ssize(last_run); ++s) freed[last_run[s]].push_back(s);
  there.assign(there.size(), false);
  std::string text;
  std::vector<size_t> made_by(trace.storages.size(), schedule.size());  // the newest run
  for (size_t r = 0; r < schedule.size(); ++r) {
    const auto op = static_cast<size_t>(schedule[r].op);
    if (op == trace.ops.size()) break;  // the results are read: they stay
    text += cat(schedule[r].again ? "again " : "run ", op, "  # ", trace.ops[op], "\n");
    for (const int storage : schedule[r].made) made_by[storage] = r;
    for (const int storage : trace.problem.ops[op].writes) {
      const bool made = made_by[storage] == r;
      if (!made && !there[storage]) freed[r].push_back(storage);  // made again for nobody
      there[storage] = there[storage] || made;
    }
    for (const int storage : freed[r]) {
      text += cat("free ", trace.storages[storage], "\n");
      there[storage] = false;
    }
  }
  return text;
}

int plan_file(const Options& options) {
  const OpTrace trace = read_trace(options.input);
  const data::OutputFile output("--output", options.output);
  const auto start = std::chrono::steady_clock::now();
  const Timeline timeline(trace.problem);
  const int64_t all = Simulator(timeline).run(as_planned(timeline)).peak;
  const auto budget = static_cast<int64_t>(options.ratio * static_cast<double>(all));
  const Frontier frontier = search_at(
      budget, trace.problem, {.effort = static_cast<int64_t>(options.seconds * kStepsPerSecond)});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  double total = 0;
  for (const Op& op : trace.problem.ops) total += op.cost;
  const Point* point = cheapest_within(frontier, budget);
  if (!point) {
    std::cout << "no plan was found within " << budget << " bytes; the smallest takes "
              << frontier.front().peak << " of " << all << ", " << seconds.count() << " s\n";
    return 1;
  }
  const double bound = certify(timeline, budget).least_added_cost;
  std::cout << "peak " << point->peak << " of " << budget << " bytes, " << all
            << " when all is kept; added time " << point->cost << " s to " << total
            << " s; no plan adds less than " << bound << " s; " << trace.ops.size() << " ops, "
            << seconds.count() << " s\n";
  output.write(plan_text(trace, schedule(*point)));
  return 0;
}

}  // namespace
}  // namespace plimsoll::tools

int main(int argc, char** argv) {
  using namespace plimsoll;
  tools::Options options;
  examples::CommandLine app{
      "Plans what to compute again so that a sequence of ops fits into less memory."};
  app.add_option("--input", options.input, "The trace")->required();
  app.add_option("--output", options.output, "The plan to write")
      ->required()
      ->check(examples::not_empty());
  app.add_option("--budget-ratio", options.ratio, "Bytes allowed, of those that keeping all takes")
      ->check(examples::number_between(1e-9, 1))
      ->required();
  app.add_option("--seconds", options.seconds,
                 "How long to search, in seconds of a core of 2025; more finds better plans")
      ->check(examples::number_between(1e-3, 1e6))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    return tools::plan_file(options);
  } catch (const examples::Exit& exit) {
    return exit.print();
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
