#include "core/combined_op.h"

#include "ops/batch_norm/kernels.h"

namespace plimsoll {
namespace {

constexpr int kOther = CombinedOp::kOtherInput;

using Places = std::vector<CombinedOp::Place>;

// y, mean, variance, inverse standard deviation, tail: y of another member.
Places statistics_after(int last) { return {{last, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}}; }

// dy, y, x, gamma, mean, inverse standard deviation, tail, with relu_grad as member `relu`.
Places gradient_inputs(int relu) {
  return {{0, 0},        {relu, 1},     {relu + 1, 1}, {relu + 1, 2},
          {relu + 1, 3}, {relu + 1, 4}, {relu + 1, 5}};
}
Places summed_inputs() {
  Places in = gradient_inputs(1);
  in.push_back({0, 1});
  return in;
}
// dx, dgamma, dbeta; of a residual sum with relu's gradient, which is that of the residual too.
Places gradients(int norm) { return {{norm, 0}, {norm, 1}, {norm, 2}}; }
Places all_gradients(int norm) { return {{norm - 1, 0}, {norm, 0}, {norm, 1}, {norm, 2}}; }

}  // namespace

std::span<const CombinedOp> combined_ops() {
  using namespace batch_norm_detail;
  static const std::vector<CombinedOp> all{
      {.op = &batch_norm_relu_op,
       .members = {{"batch_norm"}, {"add", bits(0, 1)}, {"relu", bits(0)}},
       .in = {{0, 0}, {0, 1}, {0, 2}, {1, kOther}},
       .out = statistics_after(2)},
      {.op = &batch_norm_relu_op,
       .members = {{"batch_norm"}, {"relu", bits(0)}},
       .in = {{0, 0}, {0, 1}, {0, 2}},
       .out = statistics_after(1)},
      // The sum of the gradients of y, where several ops read it.
      {.op = &batch_norm_relu_grad_op,
       .members = {{"add"}, {"relu_grad", bits(0)}, {"batch_norm_grad", bits(0)}},
       .in = summed_inputs(),
       .out = gradients(2)},
      {.op = &batch_norm_add_relu_grad_op,
       .members = {{"add"}, {"relu_grad", bits(0)}, {"batch_norm_grad", bits(0)}},
       .in = summed_inputs(),
       .out = all_gradients(2)},
      {.op = &batch_norm_relu_grad_op,
       .members = {{"relu_grad"}, {"batch_norm_grad", bits(0)}},
       .in = gradient_inputs(0),
       .out = gradients(1)},
      {.op = &batch_norm_add_relu_grad_op,
       .members = {{"relu_grad"}, {"batch_norm_grad", bits(0)}},
       .in = gradient_inputs(0),
       .out = all_gradients(1)},
  };
  return all;
}

}  // namespace plimsoll
