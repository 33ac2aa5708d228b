#include "train/pictures/curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "curves_page_html.h"
#include "train/pictures/page.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

struct Line {
  const char* figure;  // in the log
  const char* name;    // on the page, "" where the chart's title says it
  bool dashed = false;
};
struct Chart {
  const char* title;
  const char* unit;
  std::vector<Line> lines;
  bool bytes = false;  // ticks in powers of two
};

const std::vector<Chart>& all_charts() {
  static const std::vector<Chart> charts{
      {"Loss",
       "of a batch; dashed: the mean since the evaluation before",
       {{"loss", "batch"}, {"mean_loss", "mean", true}}},
      {"Validation loss", "of each evaluation", {{"val_loss", ""}}},
      {"Accuracy", "share that is right, of each evaluation", {{"accuracy", ""}}},
      {"Perplexity", "of each evaluation", {{"perplexity", ""}}},
      {"Learning rate", "", {{"learning_rate", ""}}},
      {"Memory",
       "most bytes in use; dashed: planned",
       {{"memory", "measured"}, {"planned", "planned", true}},
       true},
      {"Throughput", "items a second", {{"items_per_second", ""}}}};
  return charts;
}

using Points = std::vector<std::pair<int64_t, double>>;

Points points_of(const Curves& run, const std::string& figure) {
  Points points;
  for (const LogRow& row : run.rows)
    for (const Figures& figures : {row.figures, row.measured})
      for (const auto& [name, value] : figures)
        if (name == figure && std::isfinite(value)) points.emplace_back(row.batches, value);
  return points;
}

// No more than some 2000, with every peak and every dip.
Points thinned(const Points& points) {
  constexpr size_t kMost = 2000;
  if (points.size() <= kMost) return points;
  const size_t share = (2 * points.size() + kMost - 1) / kMost;
  Points kept;
  for (size_t begin = 0; begin < points.size(); begin += share) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = first + static_cast<std::ptrdiff_t>(std::min(share, points.size() - begin));
    auto [low, high] = std::minmax_element(
        first, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (high != low) kept.push_back(*high);
  }
  return kept;
}

Json series_of(const Curves& run, size_t number, const Line& line) {
  Json x = Json::array(), y = Json::array();
  for (const auto& [batches, value] : thinned(points_of(run, line.figure))) {
    x.push_back(batches);
    y.push_back(value);
  }
  return {{"run", number}, {"name", line.name}, {"dashed", line.dashed}, {"x", x}, {"y", y}};
}

}  // namespace

std::vector<Curves> read_curves(const std::vector<fs::path>& runs) {
  std::vector<Curves> all;
  std::map<std::string, int> names;
  std::map<fs::path, int> seen;
  const auto name_of = [](const fs::path& run) {
    const fs::path whole = fs::absolute(run).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  };
  for (const fs::path& run : runs) {
    std::error_code none;
    check<UsageError>(fs::exists(run / "metrics.jsonl", none),
                      "plot: this is no run: ", run.string(),
                      " has no metrics.jsonl. Name the folder of a run.");
    check<UsageError>(++seen[fs::canonical(run)] == 1, "plot: a run is given twice: ", run.string(),
                      ". Leave it out once.");
    ++names[name_of(run)];
  }
  for (const fs::path& run : runs) {
    Curves curves{names[name_of(run)] == 1 ? name_of(run) : run.string(), read_log(run)};
    check<DataError>(!curves.rows.empty(), "plot: there is nothing in the log yet: ", run.string(),
                     ". Wait for its first row, or leave it out.");
    all.push_back(std::move(curves));
  }
  return all;
}

std::string curves_page(std::span<const Curves> runs) {
  Json names = Json::array(), charts = Json::array();
  for (const Curves& run : runs) names.push_back(run.name);
  for (const Chart& chart : all_charts()) {
    Json series = Json::array();
    for (const Line& line : chart.lines)
      for (size_t i = 0; i < runs.size(); ++i)
        if (Json one = series_of(runs[i], i, line); !one["x"].empty())
          series.push_back(std::move(one));
    if (!series.empty())
      charts.push_back({{"title", chart.title},
                        {"unit", chart.unit},
                        {"bytes", chart.bytes},
                        {"series", series}});
  }
  return page_with(kCurvesPage, {{"runs", names}, {"charts", charts}});
}

}  // namespace plimsoll::train
