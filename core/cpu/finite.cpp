#include "core/cpu/finite.h"

namespace plimsoll {

bool all_finite(const View& view) {
  if (!is_floating(view.dtype())) return true;
  const int64_t n = count(view.shape());
  return visit_floating("all_finite", view.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < n; ++i)
      if (!std::isfinite(static_cast<Compute<T>>(view.as<T>()[i]))) return false;
    return true;
  });
}

}  // namespace plimsoll
