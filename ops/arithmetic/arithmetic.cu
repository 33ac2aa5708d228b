#include "core/cuda/faults.cuh"
#include "ops/arithmetic/formulas.h"
#include "ops/pointwise.cuh"

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

enum class Operation { add, sub, mul, div, div_trunc };

// One kernel for all: the switch costs nothing beside the memory, and a dozen kernels take long to
// compile.
struct Arithmetic {
  Operation operation;
  template <class C>
  __device__ C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>) {
      if (operation == Operation::div) return formulas::Div::f(a, b);
      if (operation == Operation::div_trunc) return formulas::DivTrunc::f(a, b);
    }
    if (operation == Operation::add) return formulas::Add::f(a, b);
    if (operation == Operation::sub) return formulas::Sub::f(a, b);
    return formulas::Mul::f(a, b);
  }
};

void arithmetic(const Call& call, Operation operation) {
  visit_elements(call.out[0].dtype(), [&]<class C>() { map<C, 2>(call, Arithmetic{operation}); });
}

}  // namespace
}  // namespace cuda

template <>
void binary_cuda<formulas::Add>(const Call& call) {
  cuda::arithmetic(call, cuda::Operation::add);
}
template <>
void binary_cuda<formulas::Sub>(const Call& call) {
  cuda::arithmetic(call, cuda::Operation::sub);
}
template <>
void binary_cuda<formulas::Mul>(const Call& call) {
  cuda::arithmetic(call, cuda::Operation::mul);
}
template <>
void binary_cuda<formulas::Div>(const Call& call) {
  cuda::arithmetic(call, cuda::Operation::div);
}
template <>
void binary_cuda<formulas::DivTrunc>(const Call& call) {
  if (is_floating(call.out[0].dtype())) return cuda::arithmetic(call, cuda::Operation::div_trunc);
  cuda::integer_quotients(call);
}

template void unary_cuda<formulas::Affine>(const Call&);
template void unary_cuda<formulas::Divide>(const Call&);

}  // namespace plimsoll
