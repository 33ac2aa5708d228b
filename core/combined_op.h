// Ops that do what several others do one after another, as data: a captured step can run them
// instead, with the same bits and fewer passes over memory (memory/combine.h).
//
//   {.op = &batch_norm_relu_op,                              // y = relu(batch_norm(x) + residual)
//    .members = {{"batch_norm"}, {"add", bits(0, 1)}, {"relu", bits(0)}},
//    .in = {{0, 0}, {0, 1}, {0, 2}, {1, kOtherInput}},       // x, gamma, beta, residual
//    .out = {{2, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}}}        // y, and what the gradient needs
#pragma once

#include <string_view>
#include <vector>

#include "core/op.h"

namespace plimsoll {

struct CombinedOp {
  // Each member but the first reads output 0 of the one before, through one of the inputs `reads`.
  struct Member {
    std::string_view name;  // OpDef::name
    Bits reads = 0;
  };
  // Input or output `number` of a member.
  struct Place {
    int member = 0, number = 0;
  };
  static constexpr int kOtherInput = -1;  // of two, that which does not read the member before

  const OpDef* op = nullptr;  // has the attributes of the first member; the others have none
  std::vector<Member> members{};
  std::vector<Place> in{}, out{};  // of `op`: where the members have them
};

// All of them (ops/combined_ops.cpp); of those that begin alike, what does most is first.
std::span<const CombinedOp> combined_ops();

}  // namespace plimsoll
