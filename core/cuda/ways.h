// Several ways to compute the same thing, of which one runs: by a library, such as with an epilogue
// (epilogue.h), or by kernels of ours.
//
//   const Way ways[] = {[&] { return product_with_epilogue(...); }, [&] { ...; return true; }};
//   run_one_of({"linear_gelu_tanh", m, n, k, dtype, inputs, outputs}, product_library, ways);
#pragma once

#include <compare>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace plimsoll::cuda {

// What the choice depends on, besides the device and the library.
struct Task {
  std::string_view op;  // a literal
  int64_t m, n, k;
  DType dtype;
  int inputs, outputs;  // of the op: whether there is a bias, what is kept, what is summed
  bool dense = true;    // the inputs; a library may have another plan for strides
  auto operator<=>(const Task&) const = default;
};

// A way: it queues its kernels, or says that it is not possible. One of them always is. All write
// the same outputs, from inputs that stay as they are.
using Way = std::function<bool()>;

// The library that one of them is done by, with its version; empty where it cannot be had.
using LibraryVersion = std::string (*)();

// Runs the first that is possible. Where algorithms are timed (tuning.h), the fastest: it is found
// by the first call that may time and in which all are possible, and kept as the algorithms of
// products are. A call in which one is not says nothing about the next. Nothing is timed without
// the library; it may be null. DeviceError where none is possible.
void run_one_of(const Task& task, LibraryVersion library, std::span<const Way> ways);

}  // namespace plimsoll::cuda
