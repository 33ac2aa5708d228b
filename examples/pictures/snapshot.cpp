#include "examples/pictures/snapshot.h"

#include <algorithm>
#include <map>

namespace plimsoll::examples {
namespace {

using Address = uint64_t;
using Kind = MemoryEvent::Kind;

Address address_of(const MemoryEvent& event) { return reinterpret_cast<Address>(event.address); }

Json frames_of(const MemoryEvent& event) {
  return Json::array({{{"filename", name_of(event.memory_class)},
                       {"line", 0},
                       {"name", *event.op ? event.op : "plimsoll"}}});
}

Json block(Address address, int64_t bytes, const MemoryEvent* held) {
  return {{"address", address},
          {"size", bytes},
          {"requested_size", bytes},
          {"state", held ? "active_allocated" : "inactive"},
          {"frames", held ? frames_of(*held) : Json::array()}};
}

using Events = std::map<Address, const MemoryEvent*>;  // that are still in force

// A segment with its blocks, which fill it without a gap: the viewer adds up their sizes.
Json segment(const MemoryEvent& made, const Events& held) {
  const Address begin = address_of(made), end = begin + static_cast<Address>(made.bytes);
  Json blocks = Json::array();
  int64_t allocated = 0;
  Address next = begin;
  const auto free_until = [&](Address address) {
    if (address > next)
      blocks.push_back(block(next, static_cast<int64_t>(address - next), nullptr));
  };
  for (auto it = held.lower_bound(begin); it != held.end() && it->first < end; ++it) {
    const auto& [address, event] = *it;
    free_until(address);
    blocks.push_back(block(address, event->bytes, event));
    allocated += event->bytes;
    next = address + static_cast<Address>(event->bytes);
  }
  free_until(end);
  return {{"device", 0},
          {"address", begin},
          {"total_size", made.bytes},
          {"allocated_size", allocated},
          {"active_size", allocated},
          {"requested_size", allocated},
          {"stream", 0},
          {"segment_type", "large"},
          {"segment_pool_id", {0, 0}},
          {"is_expandable", false},
          {"frames", Json::array()},
          {"blocks", blocks}};
}

}  // namespace

Json snapshot(std::span<const MemoryEvent> events) {
  Events segments, blocks;
  Json trace = Json::array();
  const int64_t start = events.empty() ? 0 : events.front().nanoseconds;
  for (const MemoryEvent& event : events) {
    const bool of_segment =
        event.kind == Kind::segment_allocate || event.kind == Kind::segment_free;
    const bool begins = event.kind == Kind::allocate || event.kind == Kind::segment_allocate;
    Events& those = of_segment ? segments : blocks;
    if (begins)
      those[address_of(event)] = &event;
    else if (those.erase(address_of(event)) == 0)
      continue;
    const auto add = [&](const char* action) {
      trace.push_back({{"action", action},
                       {"addr", address_of(event)},
                       {"size", event.bytes},
                       {"stream", 0},
                       {"time_us", (event.nanoseconds - start) / 1000},
                       {"frames", frames_of(event)},
                       // The viewer wants one of its categories to be called "unknown".
                       {"category", of_segment ? "unknown" : name_of(event.memory_class)}});
    };
    if (of_segment)
      add(begins ? "segment_alloc" : "segment_free");
    else if (begins)
      add("alloc");
    else {
      add("free_requested");
      add("free_completed");
    }
  }
  Json made = Json::array();
  for (const auto& [address, event] : segments) made.push_back(segment(*event, blocks));
  return {{"segments", made},
          {"device_traces", Json::array({trace})},
          {"allocator_settings", Json::object()},
          {"external_annotations", Json::array()}};
}

std::vector<MemoryEvent> planned_events(const MemoryTimeline& timeline, const Plan& plan) {
  // Far apart, and below 2^53: numbers in JavaScript.
  constexpr Address kArena = Address{1} << 44, kOutside = Address{1} << 48;
  std::vector<MemoryEvent> events;
  const auto add = [&](Kind kind, int instant, Address address, int64_t bytes,
                       MemoryClass memory_class, const char* op) {
    events.push_back({kind, int64_t{1000} * instant, reinterpret_cast<const std::byte*>(address),
                      bytes, memory_class, op});
  };
  const int64_t outside = plan.pinned_bytes + plan.input_bytes;
  if (outside > 0)
    add(Kind::segment_allocate, 0, kOutside, outside, MemoryClass::parameter, "step");
  if (plan.arena_bytes > 0)
    add(Kind::segment_allocate, 0, kArena, plan.arena_bytes, MemoryClass::arena, "step");
  Address next = kOutside;
  for (const Rectangle& r : timeline.rectangles) {
    const Address address = r.in_arena() ? kArena + static_cast<Address>(r.offset) : next;
    if (!r.in_arena()) next += static_cast<Address>(r.bytes);
    const char* op = r.in_arena() ? timeline.ops[r.begin] : name_of(r.memory_class);
    add(Kind::allocate, r.begin, address, r.bytes, r.memory_class, op);
    if (r.in_arena()) add(Kind::free, r.end, address, r.bytes, r.memory_class, op);
  }
  // By time, segments first; of what happens at one instruction, frees come first.
  std::ranges::stable_sort(events, {}, [](const MemoryEvent& event) {
    const int rank = event.kind == Kind::segment_allocate ? 0 : event.kind == Kind::free ? 1 : 2;
    return std::pair(rank == 0 ? -1 : event.nanoseconds, rank);
  });
  return events;
}

}  // namespace plimsoll::examples
