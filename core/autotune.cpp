#include "core/autotune.h"

#include <atomic>

namespace plimsoll {
namespace {

std::atomic<bool> wanted = false;
thread_local int held_off = 0;  // scopes

}  // namespace

void set_autotune(bool on) { wanted = on; }
bool autotune() { return wanted && held_off == 0; }

NoAutotune::NoAutotune() { ++held_off; }
NoAutotune::~NoAutotune() { --held_off; }

}  // namespace plimsoll
