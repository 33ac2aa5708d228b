#include "core/autotune.h"

#include <atomic>

namespace plimsoll {
namespace {

std::atomic<bool> wanted = false;

}  // namespace

void set_autotune(bool on) { wanted = on; }
bool autotune() { return wanted; }

}  // namespace plimsoll
