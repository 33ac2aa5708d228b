#include "examples/pictures/trace.h"

namespace plimsoll::examples {

Json trace(const MemoryTimeline& timeline, std::span<const double> seconds) {
  const auto named = [](const char* what, const char* name) {
    return Json{{"ph", "M"}, {"pid", 1}, {"tid", 1}, {"name", what}, {"args", {{"name", name}}}};
  };
  Json events = {named("process_name", "training step"), named("thread_name", "instructions")};
  double now = 0;  // microseconds
  for (size_t i = 0; i < timeline.live.size(); ++i) {
    Json live = Json::object();
    for (int c = 0; c < kMemoryClasses; ++c)
      live[name_of(static_cast<MemoryClass>(c))] = timeline.live[i][c];
    events.push_back(
        {{"ph", "C"}, {"pid", 1}, {"ts", now}, {"name", "live bytes"}, {"args", live}});
    if (i == seconds.size()) break;  // copying the results out has no cost
    const double duration = 1e6 * seconds[i];
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", now},
                      {"dur", duration},
                      {"name", timeline.ops[i]},
                      {"args", {{"instruction", i}}}});
    now += duration;
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

}  // namespace plimsoll::examples
