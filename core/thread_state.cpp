#include "core/thread_state.h"

namespace plimsoll {

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

}  // namespace plimsoll
