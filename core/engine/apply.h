// apply(): the only maker of nodes. Every op of the engine goes through here.
//
//   cast the inputs, where autocast is on
//   infer the result -> [capturing] append to the Program, hand out values without bytes
//                    -> [eager]     allocate, run
//   in both, where a gradient is wanted: make a Node that keeps what vjp reads
#pragma once

#include "core/engine/backward.h"
#include "core/tensor/thread_state.h"

namespace plimsoll {

// Errors: whatever op.infer throws; DeviceError for mixed devices or a missing kernel; StateError
// for an undefined input or one that belongs to a capture which has ended; OutOfMemory.
std::vector<Tensor> apply(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs = {});

inline std::vector<Tensor> apply(const OpDef& op, std::initializer_list<Tensor> inputs,
                                 Attrs attrs = {}) {
  return apply(op, std::span(inputs.begin(), inputs.size()), std::move(attrs));
}

// The same for ops with one output.
inline Tensor apply1(const OpDef& op, std::initializer_list<Tensor> inputs, Attrs attrs = {}) {
  return std::move(apply(op, inputs, std::move(attrs)).front());
}

// The kernel of `op` for `device`; the null device has one that does nothing. DeviceError when this
// build has none. Replay uses it too: a captured step runs the very kernels that eager runs.
Kernel kernel_for(const OpDef& op, Device device);

// NumericError naming the op when something it wrote, outputs or inputs in place, holds NaN or
// infinity, unless a FirstNonfinite takes it. Not for the device without bytes.
void check_written(const OpDef& op, const Call& call);

// Bytes of scratch that the op asks for; addresses in the call do not matter.
inline int64_t workspace_bytes(const OpDef& op, const Call& call) {
  return op.workspace ? op.workspace(call) : 0;
}

inline ApplyMode& apply_mode() { return thread_state().mode; }  // of this thread

// The inputs as autocast makes them where it is on, for functions made of several ops; apply() does
// this by itself, by OpDef.cast.
std::vector<Tensor> autocast(CastRule rule, std::initializer_list<Tensor> inputs);

// Sets the mode until the scope ends.
class ApplyModeScope {
 public:
  explicit ApplyModeScope(ApplyMode mode) : previous_(apply_mode()) { apply_mode() = mode; }
  ~ApplyModeScope() { apply_mode() = previous_; }
  ApplyModeScope(const ApplyModeScope&) = delete;
  ApplyModeScope& operator=(const ApplyModeScope&) = delete;

 private:
  ApplyMode previous_;
};

}  // namespace plimsoll
