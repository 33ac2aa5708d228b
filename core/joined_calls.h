// JoinedCalls: eager calls of one op on a GPU that follow each other wait and become one launch, as
// those of a captured step do (memory/joining.h).
//
//   join_calls([&] {
//     for (Tensor& grad : grads) grad = unscale(grad, scale);     // one launch for many
//   });
//
// A call waits that says OpDef::joins, has work to do and looks into no memory that another waiting
// one writes. Those that wait are made before anything else that runs on this thread or reads and
// writes tensors from the host: nobody sees the difference but the GPU.
#pragma once

#include "core/op.h"

namespace plimsoll {

class JoinedCalls {
 public:
  // Bytes that calls which wait may keep alive for nobody else: about so many more than one by one.
  static constexpr int64_t kMostKept = int64_t{4} << 20;

  // On this thread, until the scope ends: join_calls() has one.
  JoinedCalls();
  // Calls that still wait, since an error has ended the scope, are never made.
  ~JoinedCalls();
  JoinedCalls(const JoinedCalls&) = delete;
  JoinedCalls& operator=(const JoinedCalls&) = delete;

  // For apply(): true when this call waits from here on. False: the caller makes it now, and those
  // that waited have been made.
  static bool waits(const OpDef& op, const Attrs& attrs, std::span<const Tensor> inputs,
                    std::span<const Value> outputs);
  // For whatever else reads or writes memory of a GPU.
  static void make_waiting();
};

// Calls f() and makes what still waits then. Errors: those of f(), and of a launch.
template <class F>
void join_calls(const F& f) {
  const JoinedCalls scope;
  f();
  JoinedCalls::make_waiting();
}

}  // namespace plimsoll
