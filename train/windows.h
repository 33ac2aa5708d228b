// Windows: which batches make an update together (optim/accumulation.h). Where there are epochs, a
// window ends with its epoch, so that the last one of an epoch may be shorter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace plimsoll::train {

struct Windows {
  int64_t most;       // batches in a window
  int64_t epoch = 0;  // batches in an epoch; 0: there are none

  // Of batch `number`, from 0: its place in its window, and how many that window has.
  int64_t part(int64_t number) const { return (epoch ? number % epoch : number) % most; }
  int64_t parts(int64_t number) const {
    return epoch ? std::min(most, epoch - number % epoch + part(number)) : most;
  }
  bool ends_with(int64_t number) const { return part(number) + 1 == parts(number); }
  int64_t in_epoch() const { return (epoch + most - 1) / most; }
  // Windows that ended before batch `number`.
  int64_t before(int64_t number) const {
    return epoch ? number / epoch * in_epoch() + number % epoch / most : number / most;
  }
  // What two runs must have in common, so that one goes on where the other ended.
  std::string text() const {
    return epoch % most == 0 ? cat(most) : cat(most, ", or the rest of ", epoch);
  }
  // The sizes there are, a shorter one first.
  std::vector<int64_t> sizes() const {
    if (!epoch) return {most};
    return {epoch - (in_epoch() - 1) * most, most};
  }
};

}  // namespace plimsoll::train
