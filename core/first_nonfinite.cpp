#include "core/first_nonfinite.h"

namespace plimsoll {
namespace {

thread_local std::string* innermost = nullptr;

}  // namespace

FirstNonfinite::FirstNonfinite() : previous_(innermost) { innermost = &text_; }

FirstNonfinite::~FirstNonfinite() { innermost = previous_; }

std::string* FirstNonfinite::current() { return innermost; }

}  // namespace plimsoll
