// What dlpack_share.py calls: a tensor given away, one taken over, and who is still alive.
#include "formats/dlpack.h"

using plimsoll::Tensor;
namespace formats = plimsoll::formats;

namespace {
Tensor given = Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3});
Tensor taken;
}  // namespace

extern "C" {

void* probe_give() { return formats::to_dlpack(given); }
// The sum of the elements, or -1 when it is refused.
double probe_take(void* shared) {
  try {
    taken = formats::from_dlpack(static_cast<formats::DLManagedTensorVersioned*>(shared));
  } catch (const plimsoll::Error&) {
    return -1;
  }
  double sum = 0;
  for (const double value : taken.to_vector<double>()) sum += value;
  return sum;
}
void probe_let_go() { taken = {}; }
double probe_value(int index) { return given.to_vector<double>()[index]; }
int probe_holders() { return static_cast<int>(given.value().storage.use_count()); }
}
