#include "memory/recompute/context.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/cpu/caches.h"

namespace plimsoll {
namespace {

int64_t end(const Range& range) { return range.begin + range.bytes; }

// Bytes that both have.
int64_t overlap(const Range& a, const Range& b) {
  if (a.space != b.space) return 0;
  return std::max<int64_t>(0, std::min(end(a), end(b)) - std::max(a.begin, b.begin));
}

// Where the inputs, the outputs and the workspace of an instruction lie, as in Cost::later; what
// lies nowhere has no bytes.
std::vector<Range> touched_by(const Program& program, const Plan& plan, int i) {
  const Instruction& instruction = program.instructions[static_cast<size_t>(i)];
  std::vector<Range> all;
  const auto add = [&](const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      const Buffer& buffer = program.buffers[static_cast<size_t>(operand.buffer)];
      const bool inside = buffer.kind == Buffer::Kind::temporary;
      const int64_t base = inside ? plan.offsets[static_cast<size_t>(operand.buffer)] : 0;
      const bool part = is_row_major(operand.meta.shape, operand.strides);
      all.push_back({inside ? -1 : operand.buffer,
                     base + (part ? operand.offset * size_of(operand.meta.dtype) : 0),
                     part ? bytes_of(operand.meta) : buffer.bytes});
      if (base == Plan::kNowhere) all.back() = {};
    }
  };
  add(instruction.in);
  add(instruction.out);
  all.push_back({-1, plan.workspace_offsets[static_cast<size_t>(i)], instruction.workspace});
  return all;
}

// Times a quarter of the cores' own caches. Fitted: the steps of six nets at several budgets, with
// small batches and with four times as large ones, were predicted best so, on two cores with 2 MiB
// each and a part of 480 MiB.
constexpr int64_t kShared = 16, kKept = 32;

// Biases and the like: many, and too small to matter.
constexpr int64_t kLeast = 1024;

// From 0, not more than the limit, to 1, kFarther times as much.
double beyond(int64_t distance, int64_t limit) {
  if (distance <= limit) return 0;
  if (distance >= kFarther * limit) return 1;
  return std::log2(static_cast<double>(distance) / static_cast<double>(limit)) /
         std::log2(static_cast<double>(kFarther));
}

}  // namespace

Recency::Recency(const Reach& reach) : reach_(reach) {
  check<ValueError>(reach.own <= reach.shared && reach.shared <= reach.kept,
                    "recency: the caches reach less far from one to the next: ", reach.own, ", ",
                    reach.shared, " and ", reach.kept, " bytes. Order them.");
}

Recency::Distance Recency::distance(const Range& range) const {
  if (range.bytes == 0) return {};
  int64_t distance = 0, found = 0;
  Distance sum;
  for (auto last = touched_.rbegin(); last != touched_.rend() && found < range.bytes; ++last) {
    const int64_t common = overlap(last->range, range);
    if (common > 0) {
      found += common;
      // The end of what was touched drives its beginning out.
      const double lost = last->passing * beyond(distance + last->range.bytes, reach_.own);
      const auto weight = static_cast<double>(common);
      sum.left += weight * beyond(distance, reach_.own);
      sum.far += weight * std::max(beyond(distance, reach_.shared), lost);
      // Of what the cores still have the shared cache does not hear.
      sum.passing += weight * std::max(beyond(distance, reach_.kept), last->passing - lost);
    }
    distance += last->range.bytes;
  }
  const auto bytes = static_cast<double>(range.bytes), rest = bytes - static_cast<double>(found);
  return {(sum.left + rest) / bytes, (sum.far + rest) / bytes, (sum.passing + rest) / bytes};
}

void Recency::touch(const Range& range, double passing) {
  int64_t found = 0;
  for (size_t k = touched_.size(); k-- > 0 && found < range.bytes;) {
    const auto [old, old_passing] = touched_[k];
    const int64_t common = overlap(old, range);
    if (common == 0) continue;
    found += common;
    auto place = touched_.erase(touched_.begin() + static_cast<int64_t>(k));
    if (end(old) > end(range))
      place = touched_.insert(place, {{old.space, end(range), end(old) - end(range)}, old_passing});
    if (old.begin < range.begin)
      touched_.insert(place, {{old.space, old.begin, range.begin - old.begin}, old_passing});
  }
  touched_.push_back({range, passing});
  bytes_ += range.bytes - found;
  // Too far to matter.
  while (touched_.size() > 1 && bytes_ - touched_.front().range.bytes >= kFarther * reach_.kept) {
    bytes_ -= touched_.front().range.bytes;
    touched_.erase(touched_.begin());
  }
}

Reach reach(Device device) {
  if (device != Device::cpu) return {};
  const int64_t own = cache_bytes() / 4, most = std::max(cache_bytes(), shared_cache_bytes());
  return {.own = own, .shared = std::min(most, kShared * own), .kept = std::min(most, kKept * own)};
}

std::vector<double> seconds_in_context(const Program& program, const Plan& plan,
                                       std::span<const Cost> costs, const Reach& reach) {
  Recency recency(reach);
  std::vector<double> seconds(program.instructions.size());
  // In the first round it is not known yet what was touched a whole step ago, in the second not how
  // much of that was passing.
  for (const bool known : {false, true, true})
    for (size_t i = 0; i < seconds.size(); ++i) {
      const std::vector<Range> ranges = touched_by(program, plan, static_cast<int>(i));
      const std::vector<double>& later = costs[i].later;
      std::vector<Recency::Distance> distances(ranges.size());
      double more = 0, all = 0, shared = 0;  // seconds; bytes; of them those in the shared cache
      for (size_t k = 0; known && k < ranges.size(); ++k) {
        if (ranges[k].bytes < kLeast) continue;
        const Recency::Distance& distance = distances[k] = recency.distance(ranges[k]);
        const auto bytes = static_cast<double>(ranges[k].bytes);
        if (k < later.size()) more += later[k] * distance.far;
        all += bytes;
        shared += bytes * std::max(0.0, distance.left - distance.far);
      }
      if (all > 0) more += costs[i].shared * shared / all;
      seconds[i] = std::min(costs[i].near + more, costs[i].far);
      for (size_t k = 0; k < ranges.size(); ++k)
        if (ranges[k].bytes >= kLeast) recency.touch(ranges[k], distances[k].passing);
    }
  return seconds;
}

}  // namespace plimsoll
