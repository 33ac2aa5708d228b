// The rule of a running mean, as the drivers of ops/common/update.h and ops/common/update.cuh run
// it.
#pragma once

#include <array>

#include "ops/update/average_update/average_update.h"

namespace plimsoll::update_rules {

template <class C>
struct AverageStep {
  C rest;

  constexpr AverageStep(const AverageUpdate& o, double, double)
      : rest(static_cast<C>(1 - o.keep)) {}
  constexpr C operator()(C mean, C x) const { return mean + rest * (x - mean); }
};

struct Average {
  static constexpr const char* name = "average_update";
  static constexpr std::array<const char*, 0> slots{};
  using Options = AverageUpdate;
  template <class C>
  using Step = AverageStep<C>;
};

}  // namespace plimsoll::update_rules
