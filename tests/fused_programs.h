// Random programs of real ops, with broadcasting, several types, norms of rows, dropout and values
// that many read: what fusion is tried on.
//
//   const std::vector<Tensor> results = RandomProgram{seed, {4, 3, 8}}({x, y, key});
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/program.h"
#include "core/transfer.h"
#include "ops/ops.h"

namespace plimsoll::fused_programs {

// The shapes that broadcast to [N, T, D], and itself most often.
inline Shape random_shape(std::mt19937& random, const Shape& full) {
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
inline Tensor next(std::mt19937& random, const std::vector<Tensor>& values, const Tensor& key) {
  const auto draw = [&]() -> const Tensor& {
    return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 5)];
  };
  const Tensor x = draw();
  const Tensor wide = cast(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  Tensor y = cast(draw(), x.dtype());
  if (random() % 3 == 0)  // one that is broadcast, from outside
    y = cast(uniform(random_shape(random, x.shape()), -1, 1, random(), {.device = x.device()}),
             x.dtype());
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64};
  switch (random() % 16) {
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
      return layer_norm(x, ones({x.size(2)}, {wide.dtype(), x.device()}),
                        zeros({x.size(2)}, {wide.dtype(), x.device()}));
    case 12:
      return softmax(x, -1);
    case 13:
      return log_softmax(x, 2);
    case 14:
      return rms_norm(x, ones({x.size(2)}, {wide.dtype(), x.device()}));
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

// A program that was captured on the CPU, as one of a GPU.
inline Program moved_to_cuda(Program program) {
  program.device = Device::cuda;
  const auto move = [](std::vector<Operand>& operands) {
    for (Operand& operand : operands) operand.meta.device = Device::cuda;
  };
  move(program.inputs);
  move(program.results);
  for (Instruction& instruction : program.instructions) {
    move(instruction.in);
    move(instruction.out);
  }
  return program;
}

inline void expect_same_bits(const Tensor& on_device, const Tensor& expected) {
  const Tensor a = to_device(on_device, Device::cpu), b = to_device(expected, Device::cpu);
  ASSERT_EQ(a.meta(), b.meta());
  const auto bytes = static_cast<size_t>(bytes_of(a.meta()));
  if (bytes > 0) {
    EXPECT_EQ(std::memcmp(view_of(a.value()).data, view_of(b.value()).data, bytes), 0);
  }
}

}  // namespace plimsoll::fused_programs
