// Random programs of real ops, with broadcasting, several types, norms of rows, dropout and values
// that many read: fused and not, they leave the same bits, in no more bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/cpu/parallel.h"
#include "memory/fusion/fused.h"
#include "memory/step.h"
#include "ops/ops.h"

namespace plimsoll {
namespace {

constexpr uint32_t kPrograms = 4'000;

// The shapes that broadcast to [N, T, D], and itself most often.
Shape random_shape(std::mt19937& random, const Shape& full) {
  switch (random() % 8) {
    case 0:
      return {full[2]};
    case 1:
      return {full[1], full[2]};
    case 2:
      return {full[0], 1, 1};
    case 3:
      return {full[0], full[1], 1};
    case 4:
      return {};
    default:
      return full;
  }
}

// Draws one op over values of one shape; `values` are floating, in several types.
Tensor next(std::mt19937& random, const std::vector<Tensor>& values, const Tensor& key) {
  const auto draw = [&]() -> const Tensor& {
    return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 5)];
  };
  const Tensor x = draw();
  const Tensor wide = cast(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  Tensor y = cast(draw(), x.dtype());
  if (random() % 3 == 0)  // one that is broadcast, from outside
    y = cast(uniform(random_shape(random, x.shape()), -1, 1, random()), x.dtype());
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64};
  switch (random() % 14) {
    case 0:
      return x + y;
    case 1:
      return y * x;
    case 2:
      return x - y;
    case 3:
      return maximum(x, y);
    case 4:
      return relu(x);
    case 5:
      return gelu(x);
    case 6:
      return sigmoid(x);
    case 7:
      return 0.5 * x;
    case 8:
      return cast(x, kTypes[random() % 4]);
    case 9:
      return where(lt(x, y), x, y);
    case 10:
      return dropout(x, 0.3, key, random() % 4);
    case 11:
      return layer_norm(x, ones({x.size(2)}, {wide.dtype()}), zeros({x.size(2)}, {wide.dtype()}));
    case 12:
      return rms_norm(x, ones({x.size(2)}, {wide.dtype()}));
    default:
      return cast(amax(wide, {2}, Keep::ones), x.dtype()) *
             x;  // a reduction, then one number a row
  }
}

struct RandomProgram {
  uint32_t seed;
  Shape shape;

  std::vector<Tensor> operator()(std::span<const Tensor> in) const {
    std::mt19937 random(seed);
    std::vector<Tensor> values(in.begin(), in.end() - 1);
    const int ops = 3 + static_cast<int>(random() % 20);
    for (int k = 0; k < ops; ++k) values.push_back(next(random, values, in.back()));
    std::vector<Tensor> results{values.back()};
    for (int k = 0; k < 2; ++k) results.push_back(values[random() % values.size()]);
    return results;
  }
};

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.meta(), b.meta());
  const auto bytes = static_cast<size_t>(bytes_of(a.meta()));
  if (bytes > 0) {
    EXPECT_EQ(std::memcmp(view_of(a.value()).data, view_of(b.value()).data, bytes), 0);
  }
}

TEST(FusedPrograms, LeaveTheSameBitsInNoMoreBytes) {
  const int before = num_threads();
  const int64_t piece = detail::piece_elements;
  int64_t fused_ops = 0, members = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed + 1'000'000);
    const auto size = [&](uint32_t most) { return static_cast<int64_t>(random() % most); };
    const int64_t width = seed % 2 ? 8 * (1 + size(10)) : 1 + size(80);
    const Shape shape{size(5), 1 + size(9), seed % 7 == 0 ? 1 : width};
    detail::piece_elements = seed % 3 == 0 ? 16'384 : 256;  // tiles of all or of 64 elements
    set_num_threads(1 + static_cast<int>(seed % 3));
    const std::vector<Tensor> inputs{uniform(shape, -2, 2, seed), normal(shape, 0, 1, seed + 1),
                                     make_key(seed, 3)};
    const RandomProgram function{seed, shape};
    Step plain{StepFunction(function)}, fused{StepFunction(function), {.fusion = kFuseAll}};
    const Metas metas{inputs[0].meta(), inputs[1].meta(), inputs[2].meta()};
    EXPECT_LE(fused.plan(metas).arena_bytes, plain.plan(metas).arena_bytes);
    for (const Instruction& i : fused.program(metas).instructions)
      if (fusion::is_fused(i)) {
        ++fused_ops;
        members += std::ssize(i.attrs.as<fusion::Fused>().members);
      }
    const std::vector<Tensor> expected = plain.run(inputs);
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> actual = fused.run(inputs);
      for (size_t k = 0; k < expected.size(); ++k) expect_same_bits(actual[k], expected[k]);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(fused_ops, kPrograms / 3);
  EXPECT_GT(members, 2 * fused_ops);
  set_num_threads(before);
  detail::piece_elements = piece;
}

}  // namespace
}  // namespace plimsoll
