#include "core/engine/transfer.h"

#include "core/cuda/seam/cuda.h"
#include "core/engine/trace.h"

namespace plimsoll {

Tensor to_device(const Tensor& x, Device device) {
  check<StateError>(x.defined(), "to_device: the tensor is undefined. Pass one that was computed.");
  if (x.device() == device) return x;
  check<StateError>(!Trace::current(), "to_device: a step is being captured: ", x.meta(),
                    ". Make the value an input of the step.");
  check<StateError>(x.contiguous(), "to_device: the tensor is not contiguous: ", x.meta(),
                    ". Call contiguous() on it first.");
  Meta meta = x.meta();
  meta.device = device;
  const Tensor copy = Tensor::empty(meta, "to_device");
  if (device == Device::null) return copy;
  check<DeviceError>(x.device() != Device::null,
                     "to_device: the null device has no bytes: ", x.meta(),
                     ". Compute on the cpu to have values.");
  check<StateError>(x.value().storage->data() || x.count() == 0,
                    "to_device: there are no bytes: ", x.meta(),
                    " belongs to a captured step that has ended, or other ranks have parts of it. "
                    "Return it from the step, or gather it first.");
  copy_bytes(view_of(copy.value()).data, device, view_of(x.value()).data, x.device(),
             bytes_of(meta));
  return copy;
}

}  // namespace plimsoll
