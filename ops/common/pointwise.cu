#include "ops/common/pointwise.cuh"

namespace plimsoll::cuda {
namespace {

template <size_t N>
std::array<Strides, N> strides_of(const Call& call) {
  std::array<Strides, N> strides{call.out[0].strides};
  for (size_t k = 1; k < N; ++k)
    strides[k] = broadcast_strides(call.in[k - 1], call.out[0].shape());
  return strides;
}

}  // namespace

template <class C, size_t N>
Mapping<C, N>::Mapping(const Call& call) : walk(call.out[0].shape(), strides_of<N>(call)) {
  operands.of[0] = elements<C>(call.out[0]);
  for (size_t k = 1; k < N; ++k) operands.of[k] = elements<C>(call.in[k - 1]);
  packed = walk.in_packs(kPack) && walk.step[0][0] == 1;
}

template struct Mapping<float, 1>;
template struct Mapping<float, 2>;
template struct Mapping<float, 3>;
template struct Mapping<float, 4>;
template struct Mapping<double, 1>;
template struct Mapping<double, 2>;
template struct Mapping<double, 3>;
template struct Mapping<double, 4>;
template struct Mapping<int64_t, 1>;
template struct Mapping<int64_t, 2>;
template struct Mapping<int64_t, 3>;
template struct Mapping<int64_t, 4>;

}  // namespace plimsoll::cuda
