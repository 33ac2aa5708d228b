#include "ops/update/sums_of_squares/sums_of_squares.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/update/sums_of_squares/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(sums_of_squares_cuda);

namespace {

constexpr const char* kName = "sums_of_squares";

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  int64_t chunks = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    check<DTypeError>(is_floating(in[i].dtype), kName, ": a floating type is needed: tensor ", i,
                      " is ", in[i], ". Cast it first.");
    chunks += chunks_of(in[i], attrs.as<SquareAttrs>());
  }
  return {{{chunks}, DType::f64, in[0].device}};
}

// Several sums run beside each other: one alone would wait for each addition.
template <class T>
double sum_of_squares(const T* x, int64_t n) {
  constexpr int64_t kSums = 32;
  std::array<double, kSums> sums{};
  const auto add = [&](const T* from, int64_t count) {
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      const double v = static_cast<double>(static_cast<Compute<T>>(from[j]));
      sums[static_cast<size_t>(j)] += v * v;
    }
  };
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums) add(x + i, kSums);
  add(x + i, n - i);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template <class T>
void sum_typed(const View& view, int64_t chunk, double* sums) {
  const int64_t n = count(view.shape());
  const T* x = view.as<T>();
  parallel_for(pieces(n, chunk), grain_for(chunk), [=](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      sums[c] = sum_of_squares(x + c * chunk, std::min(chunk, n - c * chunk));
  });
}

void cpu(const Call& call) {
  const auto& attrs = call.attrs.as<SquareAttrs>();
  auto* sums = call.out[0].as<double>();
  for (const View& x : call.in) {
    visit_floating(kName, x.dtype(), [&]<class T>() { sum_typed<T>(x, attrs.chunk, sums); });
    sums += chunks_of(x.meta, attrs);
  }
}

constexpr OpDef sums_of_squares_op{
    .name = kName, .infer = infer, .cpu = cpu, .cuda = sums_of_squares_cuda, .widens = everything};

}  // namespace

Tensor sums_of_squares(std::span<const Tensor> tensors, int64_t chunk) {
  check<ShapeError>(!tensors.empty(), kName,
                    ": there is no tensor: 0 were given. Pass at least one.");
  check<ValueError>(chunk >= 1, kName, ": there is no such chunk: ", chunk,
                    " elements. Use 1 or more.");
  std::vector<Tensor> dense;
  for (const Tensor& tensor : tensors) dense.push_back(contiguous(tensor));
  return std::move(plimsoll::apply(sums_of_squares_op, dense, SquareAttrs{chunk}).front());
}

extern const std::vector<const OpDef*> sums_of_squares_ops{&sums_of_squares_op};

}  // namespace plimsoll
