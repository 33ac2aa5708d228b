#include "core/first_nonfinite.h"

#include "core/thread_state.h"

namespace plimsoll {
FirstNonfinite::FirstNonfinite() : previous_(current()) { thread_state().first_nonfinite = &text_; }

FirstNonfinite::~FirstNonfinite() { thread_state().first_nonfinite = previous_; }

std::string* FirstNonfinite::current() { return thread_state().first_nonfinite; }

}  // namespace plimsoll
