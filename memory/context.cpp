#include "memory/context.h"

#include <algorithm>
#include <cmath>

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

// Fitted: the steps of five nets at several budgets were predicted best so, on two cores with 2 MiB
// each and a part of 480 MiB. A loop that copies alone finds what it touched up to 48 MiB ago.
constexpr int64_t kShared = 4;

// Biases and the like: many, and too small to matter.
constexpr int64_t kLeast = 1024;

}  // namespace

double Recency::farness_at(int64_t distance) const {
  if (distance <= near_) return 0;
  if (distance >= far_) return 1;
  return std::log2(static_cast<double>(distance) / static_cast<double>(near_)) /
         std::log2(static_cast<double>(far_) / static_cast<double>(near_));
}

double Recency::farness(const Range& range) const {
  if (range.bytes == 0) return 0;
  int64_t distance = 0, found = 0;
  double sum = 0;
  for (auto last = touched_.rbegin(); last != touched_.rend() && found < range.bytes; ++last) {
    if (const int64_t common = overlap(*last, range); common > 0) {
      found += common;
      sum += static_cast<double>(common) * farness_at(distance);
    }
    distance += last->bytes;
  }
  return (sum + static_cast<double>(range.bytes - found)) / static_cast<double>(range.bytes);
}

void Recency::touch(const Range& range) {
  int64_t found = 0;
  for (size_t k = touched_.size(); k-- > 0 && found < range.bytes;) {
    const Range old = touched_[k];
    const int64_t common = overlap(old, range);
    if (common == 0) continue;
    found += common;
    const auto place = touched_.erase(touched_.begin() + static_cast<int64_t>(k));
    const auto right = end(old) > end(range)
                           ? touched_.insert(place, {old.space, end(range), end(old) - end(range)})
                           : place;
    if (old.begin < range.begin)
      touched_.insert(right, {old.space, old.begin, range.begin - old.begin});
  }
  touched_.push_back(range);
  bytes_ += range.bytes - found;
  while (touched_.size() > 1 && bytes_ - touched_.front().bytes >= far_) {  // too far to matter
    bytes_ -= touched_.front().bytes;
    touched_.erase(touched_.begin());
  }
}

int64_t near_bytes(Device device) {
  if (device != Device::cpu) return 0;
  const int64_t own = cache_bytes();
  return std::clamp(shared_cache_bytes(), own, kShared * own);
}

std::vector<double> seconds_in_context(const Program& program, const Plan& plan,
                                       std::span<const Cost> costs, int64_t near) {
  Recency recency(near, kFarther * near);
  std::vector<double> seconds(program.instructions.size());
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < seconds.size(); ++i) {
      const std::vector<Range> ranges = touched_by(program, plan, static_cast<int>(i));
      const std::vector<double>& later = costs[i].later;
      double more = 0;
      for (size_t k = 0; k < later.size(); ++k)
        if (later[k] > 0) more += later[k] * recency.farness(ranges[k]);
      seconds[i] = std::min(costs[i].near + more, costs[i].far);
      for (const Range& range : ranges)
        if (range.bytes >= kLeast) recency.touch(range);
    }
  return seconds;
}

}  // namespace plimsoll
