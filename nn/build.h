// Build: what new modules are made of. Each random tensor takes its own key from it, in the order
// of construction, so one seed always gives the same model.
//
//   nn::Build build{.seed = 1};                               // f32 on the cpu
//   nn::Build plan{.placement = {.device = Device::null}};    // shapes only: no bytes are touched
//   nn::Linear layer(784, 10, build);
#pragma once

#include "core/base/philox.h"
#include "ops/random/full/full.h"

namespace plimsoll::nn {

struct Build {
  uint64_t seed = 0;
  Placement placement{};  // dtype and device of parameters and buffers
  Keys keys{seed};        // where the next random numbers come from; leave it to its default
};

}  // namespace plimsoll::nn
