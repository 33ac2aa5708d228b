// Call: what a kernel sees. It knows no tensor, no tape and no OpDef (core/engine/op.h), so that a
// kernel can be read, and tested, by itself.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor/attrs.h"
#include "core/tensor/view.h"

namespace plimsoll {

// A kernel writes every element of `out` (row-major, not initialised), reads `in`, and may scribble
// on `workspace`, whose contents are undefined. An op is asked how much workspace it wants with a
// call that has everything but addresses.
struct Call {
  std::span<const View> in;
  std::span<const View> out;
  const Attrs& attrs;
  std::span<std::byte> workspace;
};
using Kernel = void (*)(const Call&);

inline Metas metas_of(std::span<const View> views) {
  Metas metas;
  for (const View& view : views) metas.push_back(view.meta);
  return metas;
}

}  // namespace plimsoll
