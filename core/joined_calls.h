// JoinedCalls: eager calls of one op on a GPU that follow each other wait and become one launch, as
// those of a captured step do (memory/joining.h).
//
//   join_calls([&] {
//     for (Tensor& grad : grads) grad = unscale(grad, scale);     // one launch for many
//   });
//
// A call waits that says OpDef::joins, has work to do, is not large and looks into no memory that
// another waiting one writes. Those that wait are made before anything else that runs on this
// thread or reads and writes tensors from the host: nobody sees the difference but the GPU.
#pragma once

#include "core/op.h"

namespace plimsoll {

class JoinedCalls {
 public:
  // Bytes of operands of a call that waits, and of what calls that wait may keep alive after their
  // owners let go of it before the next one: about so many more than one by one.
  static constexpr int64_t kMostKept = int64_t{4} << 20;

  // Calls that still wait when an error ends join_calls() are never made.
  ~JoinedCalls();
  JoinedCalls(const JoinedCalls&) = delete;
  JoinedCalls& operator=(const JoinedCalls&) = delete;

  // For apply(): true when this call waits from here on. False: the caller makes it now, and those
  // that waited have been made.
  static bool waits(const OpDef& op, const Attrs& attrs, std::span<const Tensor> inputs,
                    std::span<const Value> outputs);
  // For whatever else reads or writes memory of a GPU.
  static void make_waiting();

 private:
  JoinedCalls();  // on this thread, until the scope ends
  template <class F>
  friend void join_calls(const F& f);
};

// Calls f() and makes what still waits then. Errors: those of f(), and of a launch.
template <class F>
void join_calls(const F& f) {
  const JoinedCalls scope;
  f();
  JoinedCalls::make_waiting();
}

}  // namespace plimsoll
