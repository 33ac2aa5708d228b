// What ops that move bytes between ranks share. How many ranks there are is an attribute, so that a
// step can be captured and planned for any number of them; the bytes move by the ranks of the
// thread that runs it.
//
//   using All = collective::Moves<Collective::Kind::all_gather>;
//   constexpr All::Halves halves("start_all_gather", "wait_all_gather");
//   constexpr OpDef op{.name = "all_gather", .infer = infer, .cpu = All::run, .cuda = All::run,
//                      .collective = &halves.collective};
#pragma once

#include "core/engine/apply.h"
#include "core/ranks/ranks.h"

namespace plimsoll::collective {

constexpr CollectiveRule whole;  // of an op that is not cut into halves

struct Exchange {
  int64_t ranks = 1;
  bool operator==(const Exchange&) const = default;
};

// The ranks to move bytes by. StateError where they are others than the op was made for.
inline Ranks& ranks_of(const char* op, const Call& call) {
  const int64_t wanted = call.attrs.as<Exchange>().ranks;
  check<StateError>(Ranks::current() && ranks_now() == wanted, op, ": it is made for ", wanted,
                    " ranks and runs on ", ranks_now(),
                    ". Capture the step where it runs, and keep the RanksScope.");
  return *Ranks::current();
}

// Kernels of an op that moves all of x; y is [N, ...].
template <Collective::Kind kind>
struct Moves {
  static void run(const Call& call) { ranks_of(name_of(kind), call).move(collective(call)); }

  // Its two halves (core/engine/op.h). They have no gradients, and no function that applies them: a
  // planner puts them where the op was. A ticket of a GPU lies where the host can neither write nor
  // read, and stays empty: there a wait names what it waits for.
  struct Halves {
    OpDef start, wait;
    CollectiveRule collective{.start = &start, .wait = &wait};  // of the op
    constexpr Halves(const char* start_name, const char* wait_name)
        : start{.name = start_name,
                .infer = nothing,
                .cpu = begin,
                .cuda = begin,
                .collective = &begun},
          wait{.name = wait_name,
               .infer = nothing,
               .cpu = end,
               .cuda = end,
               .mutates = bits(1),
               .collective = &whole} {}
  };

 private:
  static constexpr CollectiveRule begun{.later = bits(0)};

  static Collective collective(const Call& call) {
    return {kind,
            call.in[0].data,
            call.out[0].data,
            bytes_of(call.out[0].meta) / call.attrs.as<Exchange>().ranks,
            /*root=*/0,
            call.out[0].meta.device};
  }
  static Metas nothing(std::span<const Meta>, const Attrs&) { return {}; }
  static void begin(const Call& call) {
    const Ticket ticket = ranks_of(name_of(kind), call).start(collective(call));
    if (call.out[1].meta.device == Device::cpu) *call.out[1].as<Ticket>() = ticket;
  }
  static void end(const Call& call) {
    Ranks& ranks = ranks_of(name_of(kind), call);
    if (call.in[2].meta.device == Device::cpu)
      ranks.wait(*call.in[2].as<Ticket>());
    else
      ranks.wait_for(call.in[1].data);
  }
};

// x [N, ...], a part for each of N ranks. ShapeError.
inline void check_parts(const char* op, const Meta& x, int64_t ranks) {
  check<ShapeError>(x.shape.rank() > 0 && x.shape[0] == ranks, op,
                    ": the first axis is not one part for each of ", ranks, " ranks: ", x.shape,
                    ". Reshape it to [", ranks, ", ...].");
}

inline Shape with_first_axis(int64_t size, const Shape& rest) {
  Shape shape{size};
  for (int axis = 0; axis < rest.rank(); ++axis) shape.push_back(rest[axis]);
  return shape;
}
inline Shape without_first_axis(const Shape& whole) {
  Shape shape;
  for (int axis = 1; axis < whole.rank(); ++axis) shape.push_back(whole[axis]);
  return shape;
}

}  // namespace plimsoll::collective
