#include "ops/update/global_norm/global_norm.h"

#include <array>
#include <numeric>

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"
#include "ops/common/widened.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/update/global_norm/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(global_norm_cuda);
PLIMSOLL_CUDA_KERNEL(scale_to_norm_cuda);

namespace {

Metas norm_infer(std::span<const Meta> in, const Attrs&) {
  Meta out{{}, DType::f32, in[0].device};
  for (size_t i = 0; i < in.size(); ++i) {
    check<DTypeError>(is_floating(in[i].dtype), "global_norm: a floating type is needed: tensor ",
                      i, " is ", in[i], ". Cast it first.");
    if (in[i].dtype == DType::f64) out.dtype = DType::f64;
  }
  return {out};
}

int64_t norm_workspace(const Call& call) {
  int64_t total = 0;
  for (const View& view : call.in) total += chunks_of(view.meta);
  return total * static_cast<int64_t>(sizeof(double));
}

// In double precision. Several sums run beside each other: one alone would wait for each addition.
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
void sums_of_squares(const View& x, double* partial) {
  parallel_for(count(x.shape()), kChunk, [&](int64_t begin, int64_t end) {
    partial[begin / kChunk] = sum_of_squares(x.as<T>() + begin, end - begin);
  });
}

void norm_cpu(const Call& call) {
  auto* partial = reinterpret_cast<double*>(call.workspace.data());
  int64_t used = 0;
  for (const View& x : call.in) {
    visit_floating("global_norm", x.dtype(),
                   [&]<class T>() { sums_of_squares<T>(x, partial + used); });
    used += chunks_of(x.meta);
  }
  double total = 0;
  for (int64_t i = 0; i < used; ++i) total += partial[i];
  if (call.out[0].dtype() == DType::f64)
    *call.out[0].as<double>() = std::sqrt(total);
  else
    *call.out[0].as<float>() = static_cast<float>(std::sqrt(total));
}

constexpr OpDef norm_op{.name = "global_norm",
                        .infer = norm_infer,
                        .cpu = norm_cpu,
                        .cuda = global_norm_cuda,
                        .widens = everything,
                        .workspace = norm_workspace};

Metas scale_infer(std::span<const Meta> in, const Attrs&) {
  check_floating("scale_to_norm", in[0]);
  check_scalar("scale_to_norm", "norm", in[1]);
  return {in[0]};
}

void scale_cpu(const Call& call) {
  const double limit = call.attrs.as<ScaleAttrs>().max_norm / (read_scalar(call.in[1]) + 1e-6);
  visit_floating("scale_to_norm", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const C scale = static_cast<C>(limit > 1 ? 1 : limit);
    T* y = call.out[0].as<T>();
    visit_widened<T>(call.in[0].dtype(), [&]<class X>() {
      const X* x = call.in[0].as<X>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) y[i] = narrow<T>(static_cast<C>(x[i]) * scale);
      });
    });
  });
}

constexpr OpDef scale_op{.name = "scale_to_norm",
                         .infer = scale_infer,
                         .cpu = scale_cpu,
                         .cuda = scale_to_norm_cuda,
                         .inplace = 0,
                         .widens = bits(0)};

}  // namespace

Tensor global_norm(std::span<const Tensor> tensors) {
  check<ShapeError>(!tensors.empty(),
                    "global_norm: there is no tensor: 0 were given. Pass at least one.");
  std::vector<Tensor> dense;
  for (const Tensor& tensor : tensors) dense.push_back(contiguous(tensor));
  return std::move(plimsoll::apply(norm_op, dense).front());  // not std::apply
}

Tensor scale_to_norm(const Tensor& x, const Tensor& norm, double max_norm) {
  check<ValueError>(max_norm > 0, "scale_to_norm: the maximum must be positive: ", max_norm,
                    ". Use a number above 0.");
  return apply1(scale_op, {contiguous(x), norm}, ScaleAttrs{max_norm});
}

extern const std::vector<const OpDef*> global_norm_ops{&norm_op, &scale_op};

}  // namespace plimsoll
