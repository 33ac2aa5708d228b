#include "core/cuda/faults.cuh"
#include "ops/common/pointwise.cuh"
#include "ops/pointwise/arithmetic/formulas.h"

namespace plimsoll {

namespace cuda {
namespace {

__global__ void quotient_kernel(Walk<3> walk, Elements<int64_t> a, Elements<int64_t> b,
                                Elements<int64_t> y, uint64_t* fault) {
  for (int64_t i = first_index(); i < walk.count; i += total_threads()) {
    const auto at = walk.offsets(i);
    const int64_t dividend = a.get(at[0]), divisor = b.get(at[1]);
    if (divisor == 0) note_fault(fault, i, dividend);
    y.set(at[2], divisor == 0 ? 0 : formulas::integer_quotient(dividend, divisor));
  }
}

void throw_divided_by_zero(int64_t, int64_t dividend, int64_t) { fail_divided_by_zero(dividend); }

void integer_quotients(const Call& call) {
  const View &a = call.in[0], &b = call.in[1], &y = call.out[0];
  const Walk<3> walk(y.shape(),
                     {broadcast_strides(a, y.shape()), broadcast_strides(b, y.shape()), y.strides});
  launch(quotient_kernel, blocks_for(walk.count), kThreads, walk, elements<int64_t>(a),
         elements<int64_t>(b), elements<int64_t>(y), fault_word(&throw_divided_by_zero, 0));
}

}  // namespace
}  // namespace cuda

template <>
void binary_cuda<formulas::DivTrunc>(const Call& call) {
  if (!is_floating(call.out[0].dtype())) return cuda::integer_quotients(call);
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    cuda::map<C, 2>(call, BinaryOnCuda<formulas::DivTrunc>());
  });
}
template void binary_cuda<formulas::Add>(const Call&);
template void binary_cuda<formulas::Sub>(const Call&);
template void binary_cuda<formulas::Mul>(const Call&);
template void binary_cuda<formulas::Div>(const Call&);

template void unary_cuda<formulas::Affine>(const Call&);
template void unary_cuda<formulas::Divide>(const Call&);

}  // namespace plimsoll
