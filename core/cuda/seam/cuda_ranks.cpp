#include "core/cuda/seam/cuda_ranks.h"

#include "core/base/error.h"

namespace plimsoll {

void open_on(Device device, double timeout, std::unique_ptr<Ranks>& ranks) {
  if (device != Device::cuda || ranks->size() == 1) return;
  check<DeviceError>(open_nccl_backend != nullptr,
                     "ranks: this build has no NCCL for GPUs to reach each other by. Configure "
                     "with -DPLIMSOLL_CUDA=ON where nccl.h is found.");
  open_nccl_backend(timeout, ranks);
}

}  // namespace plimsoll
