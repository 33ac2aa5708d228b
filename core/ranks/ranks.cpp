#include "core/ranks/ranks.h"

#include "core/tensor/thread_state.h"

namespace plimsoll {

Ranks* Ranks::current() { return thread_state().ranks; }

int64_t ranks_now() { return Ranks::current() ? Ranks::current()->size() : 1; }

RanksScope::RanksScope(Ranks* ranks) : previous_(thread_state().ranks) {
  thread_state().ranks = ranks;
}
RanksScope::~RanksScope() { thread_state().ranks = previous_; }

}  // namespace plimsoll
