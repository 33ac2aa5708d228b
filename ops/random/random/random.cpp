#include "ops/random/random/random.h"

#include "core/base/convert.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/random/random/draw.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(uniform_cuda);
PLIMSOLL_CUDA_KERNEL(normal_cuda);

namespace {

using namespace random_detail;

Metas random_infer(std::span<const Meta>, const Attrs& attrs) {
  const Meta& meta = attrs.as<RandomAttrs>().meta;
  bytes_of(meta);  // refuses sizes that are negative or overflow
  return {meta};
}

template <class Draw>
void random_cpu(const Call& call) {
  const auto& [meta, a, b, key] = call.attrs.as<RandomAttrs>();
  visit_floating("random", meta.dtype, [&, a = a, b = b, key = key]<class T>() {
    T* y = call.out[0].as<T>();
    constexpr int64_t kGrain = 4096;  // a multiple of 4: a block never lies in two pieces
    parallel_for(count(call.out[0].shape()), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += 4) {
        const Four four = Draw::four(random_words(key, 0, static_cast<uint64_t>(i / 4)), a, b);
        for (int64_t k = 0; k < std::min<int64_t>(4, end - i); ++k) y[i + k] = convert<T>(four[k]);
      }
    });
  });
}

constexpr OpDef uniform_op{
    .name = "uniform", .infer = random_infer, .cpu = random_cpu<FourUniform>, .cuda = uniform_cuda};
constexpr OpDef normal_op{
    .name = "normal", .infer = random_infer, .cpu = random_cpu<FourNormal>, .cuda = normal_cuda};

void check_floating(const char* op, DType dtype) {
  check<DTypeError>(is_floating(dtype), op, ": a floating type is needed: got ", dtype,
                    ". Draw it in f32 and cast.");
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, uint64_t key, Placement placement) {
  check_floating("uniform", placement.dtype);
  check<ValueError>(low <= high && std::isfinite(high - low),
                    "uniform: the range is empty or endless: ", low, " to ", high,
                    ". Use numbers with low <= high and a finite difference.");
  return apply1(uniform_op, {},
                RandomAttrs{{shape, placement.dtype, placement.device}, low, high, key});
}

Tensor normal(const Shape& shape, double mean, double std, uint64_t key, Placement placement) {
  check_floating("normal", placement.dtype);
  check<ValueError>(std::isfinite(mean) && std::isfinite(std) && std >= 0,
                    "normal: no such distribution: mean ", mean, ", std ", std,
                    ". Use finite numbers with std >= 0.");
  return apply1(normal_op, {},
                RandomAttrs{{shape, placement.dtype, placement.device}, mean, std, key});
}

extern const std::vector<const OpDef*> random_ops{&uniform_op, &normal_op};

}  // namespace plimsoll
