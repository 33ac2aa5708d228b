#include "train/pictures/exports.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"

namespace plimsoll::train {
namespace {

using Address = uint64_t;
using Kind = MemoryEvent::Kind;

Address address_of(const MemoryEvent& event) { return reinterpret_cast<Address>(event.address); }

Json frames_of(const MemoryEvent& event) {
  return Json::array({{{"filename", name_of(event.memory_class)},
                       {"line", 0},
                       {"name", *event.op ? with_module(event.op, event.module) : "plimsoll"}}});
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
                       MemoryClass memory_class, const char* op, ModuleName module = nullptr) {
    events.push_back({kind, int64_t{1000} * instant, reinterpret_cast<const std::byte*>(address),
                      bytes, memory_class, op, module});
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
    add(Kind::allocate, r.begin, address, r.bytes, r.memory_class, op, r.module);
    if (r.in_arena()) add(Kind::free, r.end, address, r.bytes, r.memory_class, op, r.module);
  }
  // By time, segments first; of what happens at one instruction, frees come first.
  std::ranges::stable_sort(events, {}, [](const MemoryEvent& event) {
    const int rank = event.kind == Kind::segment_allocate ? 0 : event.kind == Kind::free ? 1 : 2;
    return std::pair(rank == 0 ? -1 : event.nanoseconds, rank);
  });
  return events;
}

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
                      {"name", timeline.name(i)},
                      {"args", {{"instruction", i}}}});
    now += duration;
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

namespace {

// Elements appended to a list at once, as CPython does: readers in JavaScript take no long lists.
constexpr size_t kBatch = 1000;

// The low `bytes` bytes of a number, the lowest first.
void pickle_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void pickle_string(std::string& out, const std::string& text) {
  out += 'X';  // BINUNICODE
  pickle_number(out, text.size(), 4);
  out += text;
}

void pickle_into(std::string& out, const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      out += 'N';
      return;
    case Json::value_t::boolean:
      out += json.get<bool>() ? '\x88' : '\x89';
      return;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      out += '\x8a';  // LONG1: how many bytes, then two's complement
      out += '\x08';
      pickle_number(out, static_cast<uint64_t>(json.get<int64_t>()), 8);
      return;
    case Json::value_t::string:
      return pickle_string(out, json.get_ref<const std::string&>());
    case Json::value_t::array:
      out += ']';  // EMPTY_LIST
      for (size_t i = 0; i < json.size(); ++i) {
        if (i % kBatch == 0) out += '(';  // MARK
        pickle_into(out, json[i]);
        if (i % kBatch == kBatch - 1 || i + 1 == json.size()) out += 'e';  // APPENDS
      }
      return;
    case Json::value_t::object:
      out += "}(";  // EMPTY_DICT, MARK
      for (const auto& [key, value] : json.items()) {
        pickle_string(out, key);
        pickle_into(out, value);
      }
      out += 'u';  // SETITEMS
      return;
    default:
      fail<ValueError>("pickle: it takes no ", json.type_name(),
                       " that is not a whole number: ", json.dump(), ". Round it.");
  }
}

}  // namespace

std::string pickle(const Json& json) {
  std::string out = "\x80\x02";  // PROTO 2
  pickle_into(out, json);
  return out + '.';  // STOP
}

}  // namespace plimsoll::train
