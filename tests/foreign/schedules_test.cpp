// Learning-rate schedules against PyTorch's own numbers. lr_schedules.json has the rate of each
// step by a name that says which schedule: "StepLR(10,0.5)", "OneCycleLR(max=1,total=40)". What a
// name does not say is searched, as tests/foreign/pytorch/pytorch.h says. Needs PLIMSOLL_FOREIGN.
#include <gtest/gtest.h>

#include "data/file.h"
#include "optim/plateau.h"
#include "optim/schedule.h"
#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll {
namespace {

using namespace golden;
using namespace optim;

// "0.5", ".5", "1/3" and "[5,20]"; "1/3->1" is a list too; else text.
Json value_of(const std::string& text) {
  if (const size_t arrow = text.find("->"); arrow != std::string::npos)
    return Json::array({value_of(text.substr(0, arrow)), value_of(text.substr(arrow + 2))});
  if (text.starts_with("[")) return Json::parse(text);
  const size_t slash = text.find('/');
  std::array<double, 2> parts{0, 1};
  for (size_t i = 0; i < (slash == std::string::npos ? 1 : 2); ++i) {
    const std::string part = i == 0 ? text.substr(0, slash) : text.substr(slash + 1);
    char* end = nullptr;
    parts[i] = std::strtod(part.c_str(), &end);
    if (part.empty() || *end != 0) return text;
  }
  return parts[0] / parts[1];
}

// What stands between the parentheses: by its name, or by its place from "0".
Json arguments(const std::string& name) {
  Json all = Json::object();
  const size_t open = name.find('(');
  if (open == std::string::npos) return all;
  const std::string inside = name.substr(open + 1, name.rfind(')') - open - 1);
  std::string item;
  int depth = 0, place = 0;
  for (const char c : inside + ",") {
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (c != ',' || depth > 0) {
      if (c != ' ') item += c;
      continue;
    }
    const size_t equals = item.find('=');
    const std::string key =
        equals == std::string::npos ? std::to_string(place++) : item.substr(0, equals);
    if (!item.empty())
      all[key] = value_of(item.substr(equals == std::string::npos ? 0 : equals + 1));
    item.clear();
  }
  return all;
}

using Make = std::function<Schedule(Attributes&, double base)>;

Schedule linear_rates(Attributes& a, double base) {
  const std::vector<double> factors = a.numbers("0", {{1. / 3}});
  const double start = a.number("start|start_factor", {factors.front()});
  const double end = a.number("end|end_factor", {factors.size() > 1 ? factors.back() : 1});
  const int64_t steps = a.integer("total|total_iters|1", {5});
  base /= a.has("start|start_factor|0") ? start : 1;  // the first rate is base * start
  return warmup(steps, constant(base * end), start / end);
}

Schedule constant_rates(Attributes& a, double first) {
  const double factor = a.number("factor|0", {1. / 3});
  return multi_step(first, {a.integer("total|total_iters|1", {5})}, 1 / factor);
}

Schedule cyclic_rates(Attributes& a, double) {
  const std::string mode = a.text("mode|2", {"triangular"});
  CycleHeights heights;
  if (mode == "triangular2")
    heights.each_cycle = 0.5;
  else if (mode == "exp_range")
    heights.each_step = a.number("gamma|3", {1});
  else
    check<Unsupported>(mode == "triangular", "mode = ", mode);
  const double low = a.number("base|base_lr|low|0", {}), high = a.number("max|max_lr|high|1", {});
  const int64_t up = a.integer("up|step_size_up", {2000});
  return cyclic(low, high, up, a.integer("down|step_size_down", {up}), heights);
}

// "total" may be one less than the total_steps that PyTorch was given; by that name it is exact.
Schedule one_cycle_rates(Attributes& a, double) {
  const double highest = a.number("max|max_lr|0", {});
  const int64_t steps =
      a.integer("total|total_steps|1", {}) + (a.has("total") ? a.any<int64_t>({0, 1}) : 0);
  OneCycle shape{.rising = a.number("pct|pct_start", {0.3}),
                 .start_divisor = a.number("div|div_factor", {25}),
                 .end_divisor = a.number("final_div|final_div_factor", {1e4}),
                 .linear = a.text("anneal_strategy|anneal", {"cos"}) == "linear",
                 .three_phase = a.flag("three_phase", false)};
  const std::string word = a.text(a.has("max|max_lr") ? "0" : "2", {""});  // without "="
  shape.linear |= word == "linear";
  shape.three_phase |= word == "three_phase";
  return one_cycle(highest, steps, shape);
}

// "Linear5", "Cosine35": the warm-up's steps, then the others'.
Schedule two_rates(Attributes& a, double first) {
  const std::string warm = a.text("0", {}), then = a.text("1", {});
  check<Unsupported>(warm.starts_with("Linear") && then.starts_with("Cosine"), warm, ", ", then);
  const double start = a.number("start|start_factor", {0.1, 1. / 3, 0.01, 0.2, 0.5});
  return warmup(std::stoll(warm.substr(6)), cosine(first / start, 0, std::stoll(then.substr(6))),
                start);
}

// The file does not say what was observed: nothing that got better, or a metric that did at
// observations 0, 1 and 7.
Schedule plateau_rates(Attributes& a, double base) {
  const PlateauOptions options{.factor = a.number("factor", {0.1}),
                               .patience = a.integer("patience", {10}),
                               .threshold = a.number("threshold", {1e-4}),
                               .cooldown = a.integer("cooldown", {0}),
                               .lowest = a.number("min_lr|min", {0}),
                               .eps = a.number("eps", {1e-8})};
  const bool better = a.any<int>({0, 1}) != 0;
  return [=](int64_t step) {
    Plateau plateau(base, options);
    for (int64_t i = 0; i < step; ++i) plateau.observe(!better || i < 1 ? 1 : i < 7 ? 0.9 : 0.8);
    return plateau.rate();
  };
}

// A function of one's own: five steps up to the rate, half a cosine of 35 down.
Schedule warmup_then_cosine(Attributes&, double first) {
  return [first](int64_t step) {
    return step < 5 ? first * static_cast<double>(step + 1) : cosine(5 * first, 0, 35)(step - 5);
  };
}

// `base` is the first rate.
const std::map<std::string, Make> kSchedules{
    {"StepLR",
     [](auto& a, double base) {
       return step_decay(base, a.integer("step_size|step|0", {}), a.number("gamma|1", {0.1}));
     }},
    {"MultiStepLR",
     [](auto& a, double base) {
       return multi_step(base, a.integers("milestones|0", {}), a.number("gamma|1", {0.1}));
     }},
    {"ExponentialLR",
     [](auto& a, double base) { return exponential(base, a.number("gamma|0", {})); }},
    {"CosineAnnealingLR",
     [](auto& a, double base) {
       return cosine(base, a.number("eta_min|1", {0}), a.integer("T_max|T|0", {}));
     }},
    {"CosineAnnealingWarmRestarts",
     [](auto& a, double base) {
       const int64_t steps = a.integer("T_0|T0|0", {}), growth = a.integer("T_mult|Tmult|1", {1});
       return cosine_restarts(base, a.number("eta_min|2", {0}), steps, growth);
     }},
    {"LinearLR", linear_rates},
    {"ConstantLR", constant_rates},
    {"PolynomialLR",
     [](auto& a, double base) {
       return polynomial(base, a.integer("total|total_iters|0", {5}), a.number("power|1", {1}));
     }},
    {"CyclicLR", cyclic_rates},
    {"OneCycleLR", one_cycle_rates},
    {"MultiplicativeLR", [](auto& a, double base) { return exponential(base, a.number("0", {})); }},
    {"Sequential", two_rates},
    {"SequentialLR", two_rates},
    {"ReduceLROnPlateau", plateau_rates},
    {"Lambda warmup+cosine", warmup_then_cosine},
};

std::string run_schedule(const std::string& name, const std::vector<double>& rates) {
  const auto make = kSchedules.find(name.substr(0, name.find('(')));
  check<Unsupported>(make != kSchedules.end(), "not one of optim/schedule.h");
  check<Unsupported>(!rates.empty(), "it has no rates");
  const Json attrs = arguments(name);
  Choices choices;
  Read read;
  Attributes a(attrs, choices, read);
  const double highest = *std::max_element(rates.begin(), rates.end());
  std::string first;
  do {
    const Schedule ours = make->second(a, rates.at(0));
    std::string wrong;
    for (size_t i = 0; i < rates.size() && wrong.empty(); ++i)
      if (const double rate = ours(static_cast<int64_t>(i));
          !(std::abs(rate - rates[i]) <= 1e-14 * highest))
        wrong = cat("step ", i, " has ", rate, " instead of ", rates[i]);
    if (wrong.empty()) return "";
    if (first.empty()) first = wrong;
  } while (choices.next());
  for (const auto& [key, value] : attrs.items())
    check<Unsupported>(read.contains(key), "argument ", key, " = ", value.dump());
  return first;
}

TEST(foreign, schedules) {
  NEEDS_FOREIGN();
  const auto folders = folders_with("lr_schedules.json");
  if (folders.empty()) GTEST_SKIP() << "no folder there has an lr_schedules.json";
  for (const auto& folder : folders) {
    foreign::Tally<Unsupported> tally;
    const Json file = Json::parse(data::read_text(folder / "lr_schedules.json"));
    for (const auto& schedule : file.items())
      tally.count(schedule.key(), [&] {
        return run_schedule(schedule.key(), schedule.value().template get<std::vector<double>>());
      });
    EXPECT_GT(tally.all, 0) << folder << " has no schedules";
    tally.print(folder.filename().string() + " schedules");
    if (tally.all == 12) {  // the folder that this was written with
      EXPECT_EQ(tally.passed, 12);
    }
  }
}

}  // namespace
}  // namespace plimsoll
