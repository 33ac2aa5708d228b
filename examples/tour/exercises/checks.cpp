// The checks: each runs what the student wrote against something that is known to be right.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "autograd/gradcheck.h"
#include "examples/tour/exercises/exercises.h"
#include "examples/tour/net.h"
#include "memory/layout/memory_timeline.h"
#include "memory/passes/early_update.h"
#include "memory/recompute/certificate.h"
#include "memory/recompute/costs.h"
#include "memory/recompute/program.h"
#include "memory/recompute/search.h"
#include "memory/step/passes.h"

namespace plimsoll::exercises {
namespace {

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

Program tour_program(int layers, int64_t batch) {
  tour::Training training({.layers = layers});
  return update_early(capture_live(training.function(), tour::inputs_of(batch)));
}

std::vector<Box> boxes_of(const Program& program) {
  std::vector<Box> boxes;
  for (const Rectangle& r : make_timeline(program, make_plan(program)).rectangles)
    if (r.in_arena()) boxes.push_back({r.bytes, r.begin, r.end});
  return boxes;
}

std::vector<Box> random_boxes(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int>(random() % n); };
  std::vector<Box> boxes;
  for (int i = 0; i < 40; ++i) {
    const int begin = below(60);
    boxes.push_back({kGranule * (1 + below(64)), begin, begin + 1 + below(20)});
  }
  return boxes;
}

// Empty: the offsets are right.
std::string fault(std::span<const Box> boxes, const std::vector<int64_t>& offsets) {
  if (offsets.size() != boxes.size())
    return cat(boxes.size(), " boxes were given, ", offsets.size(), " offsets came back");
  for (size_t a = 0; a < boxes.size(); ++a) {
    if (offsets[a] < 0) return cat("box ", a, " has the offset ", offsets[a]);
    for (size_t b = 0; b < a; ++b)
      if (boxes[a].begin < boxes[b].end && boxes[b].begin < boxes[a].end &&
          offsets[a] < offsets[b] + boxes[b].bytes && offsets[b] < offsets[a] + boxes[a].bytes)
        return cat("boxes ", b, " and ", a, " are alive together and share bytes");
  }
  return "";
}

int64_t height(std::span<const Box> boxes, const std::vector<int64_t>& offsets) {
  int64_t top = 0;
  for (size_t b = 0; b < boxes.size(); ++b) top = std::max(top, offsets[b] + boxes[b].bytes);
  return top;
}

}  // namespace

Verdict check_softsign() {
  const auto infinity = std::numeric_limits<double>::infinity();
  for (const double x : {0.0, 1.0, -1.0, 3.0, -0.25, 1e6}) {
    const double y = softsign(full({}, x, {.dtype = DType::f64})).item(),
                 right = x / (1 + std::abs(x));
    if (!(std::abs(y - right) <= 1e-12))
      return {false, cat("softsign(", x, ") is ", y, " where ", right, " is right")};
  }
  const double nan = softsign(full({}, std::nan(""))).item();
  if (!std::isnan(nan)) return {false, cat("softsign(NaN) is ", nan, " where NaN is right")};
  const Tensor x = normal({4, 6}, 0, 2, 1, {.dtype = DType::f64});
  const auto f = [](std::span<const Tensor> in) { return std::vector{softsign(in[0])}; };
  if (const GradcheckResult result = gradcheck(f, std::array{x}); !result.ok)
    return {false, "its values are right; its gradient is not: " + result.message};
  const Tensor y = softsign(full({1}, infinity).require_grad());
  const bool reads_input = y.edge().node->in[0].storage != nullptr;
  return {true, reads_input ? "its gradient reads the input. The output is kept anyway where a "
                              "product follows: can the gradient be made from it?"
                            : "its gradient reads the output, which the next op often keeps"};
}

Verdict check_placement() {
  double worst_step = 0, sum = 0;
  for (const int layers : {4, 12})
    for (const int64_t batch : {64, 1024}) {
      const std::vector<Box> boxes = boxes_of(tour_program(layers, batch));
      const std::vector<int64_t> offsets = place_boxes(boxes);
      if (const std::string wrong = fault(boxes, offsets); !wrong.empty()) return {false, wrong};
      worst_step = std::max(worst_step, static_cast<double>(height(boxes, offsets)) /
                                            static_cast<double>(live_peak(boxes).bytes));
    }
  constexpr int kSets = 50;
  for (uint64_t seed = 0; seed < kSets; ++seed) {
    const std::vector<Box> boxes = random_boxes(seed);
    const std::vector<int64_t> offsets = place_boxes(boxes);
    if (const std::string wrong = fault(boxes, offsets); !wrong.empty()) return {false, wrong};
    sum +=
        static_cast<double>(height(boxes, offsets)) / static_cast<double>(live_peak(boxes).bytes);
  }
  const double mean = sum / kSets;
  const std::string text =
      cat("times the lower bound: training steps up to ", two_digits(worst_step),
          " (1.10 will do), ", "random boxes ", two_digits(mean), " on average (1.25 will do)");
  return {worst_step <= 1.10 && mean <= 1.25, text};
}

Verdict check_policy() {
  const Program program = tour_program(12, 4096);
  std::vector<double> costs;
  for (const Instruction& instruction : program.instructions)
    costs.push_back(modelled_seconds(instruction));
  const recompute::Timeline timeline(recompute::problem_of(program, costs));
  recompute::Simulator simulator(timeline);
  const recompute::Choices keep = recompute::as_planned(timeline);
  const int64_t all = simulator.run(keep).peak, budget = all * 3 / 4;
  double step = 0;
  for (const double cost : costs) step += cost;

  const recompute::Choices choices = choose(timeline, budget);
  if (std::ssize(choices) != timeline.gaps())
    return {false, cat("there are ", timeline.gaps(), " gaps, and ", choices.size(), " choices")};
  const recompute::Outcome outcome = simulator.run(choices);
  if (!outcome.possible) return {false, "something is evicted that cannot be made again"};
  if (outcome.peak > budget)
    return {false, cat("the peak is ", outcome.peak, " bytes where ", budget, " are allowed")};
  double best = std::numeric_limits<double>::infinity();
  for (const recompute::Point& point :
       recompute::search_at(budget, timeline.problem(), {.effort = 5'000'000}))
    if (point.peak <= budget) best = std::min(best, point.cost);
  const auto percent = [&](double cost) { return two_digits(100 * cost / step) + " %"; };
  return {true, cat("it adds ", percent(outcome.cost), " to the step; the engine's search adds ",
                    percent(best), ", and no plan less than ",
                    percent(recompute::certify(timeline, budget).least_added_cost))};
}

}  // namespace plimsoll::exercises
