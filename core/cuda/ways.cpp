#include "core/cuda/ways.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "core/cache.h"
#include "core/cuda/libraries.h"
#include "core/cuda/tuning.h"

namespace plimsoll::cuda {
namespace {

std::mutex mutex;
// Guarded by it; never destroyed, as plans of libraries.
std::map<Task, size_t>& chosen = *new std::map<Task, size_t>;

struct NotKept {};  // thrown where there is nothing to keep

// To be raised when the order of an op's ways changes, or the time that a kernel of ours takes.
constexpr const char* kWays = "ways 1";

CachedBytes time_ways(std::span<const Way> ways) {
  const auto run = [&](size_t i) {
    if (!ways[i]()) throw NotKept();
  };
  const std::optional<size_t> best = fastest(time_candidates(ways.size(), run));
  return {best ? static_cast<uint8_t>(*best) : throw NotKept()};
}

size_t fastest_way(const Task& task, const std::string& library, std::span<const Way> ways) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return time_ways(ways)[0];
  const std::string name =
      cat(task.op, " ", task.m, " ", task.n, " ", task.k, " ", task.dtype, " ", task.inputs, " ",
          task.outputs, task.dense ? "" : " strided", " of ", ways.size());
  return cached_file(
      folder, {kWays, library, device_identity(), name}, [&] { return time_ways(ways); },
      [&](const CachedBytes& kept) { return kept.size() == 1 && kept[0] < ways.size(); })[0];
}

// Nothing: it was not timed.
std::optional<size_t> choice(const Task& task, LibraryVersion version,
                             std::span<const Way> ways) try {
  const std::lock_guard lock(mutex);
  if (const auto known = chosen.find(task); known != chosen.end()) return known->second;
  const std::string library = version && can_time() ? version() : "";
  if (library.empty()) return std::nullopt;
  const size_t fastest = fastest_way(task, library, ways);
  return chosen[task] = fastest;
} catch (const NotKept&) {
  return std::nullopt;
}

}  // namespace

void run_one_of(const Task& task, LibraryVersion library, std::span<const Way> ways) {
  const std::optional<size_t> way = choice(task, library, ways);
  if (way && ways[*way]()) return;
  const bool done = std::ranges::any_of(ways, [](const Way& way) { return way(); });
  check<DeviceError>(done, "cuda: ", task.op, ": none of its ", ways.size(),
                     " ways is possible: ", task.m, " x ", task.n, " by ", task.k, " in ",
                     task.dtype, ". Report it: one of them always is.");
}

}  // namespace plimsoll::cuda
