// Cases for the ops that update one parameter and keep their state in 8 bits
// (ops/common/coded_update.h).
//
//   coded_update_case("plain", {5, 70}, /*step=*/3, {true, false},
//                     [](const CodedInputs& in) { adam8_update(in.param, in.grad, ...); },
//                     [](double& p, double g, double* slots, double lr, double t) { ... })
#pragma once

#include "ops/common/coded_slot.h"
#include "ops/common/dynamic_code.h"
#include "tests/support/update_case.h"

namespace plimsoll {

struct CodedInputs {
  Tensor param, grad, step, lr;
  std::vector<CodedSlot> slots;
};
using CodedCall = std::function<void(const CodedInputs&)>;

// The number of the code's value nearest to x.
inline int nearest_code(double x, bool is_signed) {
  int best = 0;
  for (int i = 1; i < 256; ++i)
    if (std::abs(x - dynamic_code_value(i, is_signed)) <
        std::abs(x - dynamic_code_value(best, is_signed)))
      best = i;
  return best;
}

// `call` changes copies, which are the results: parameter, codes and scales of each slot. `element`
// is the same step on one element of a state that is not coded.
inline OpCase coded_update_case(const char* name, Shape shape, double step,
                                const std::vector<bool>& is_signed, CodedCall call,
                                UpdateElement element) {
  constexpr double kRate = 0.125;
  const int64_t n = count(shape), blocks = coded_blocks(n);
  std::vector<InputSpec> inputs{real(shape), real(shape), given_index({}, {step})};
  for (size_t k = 0; k < is_signed.size(); ++k) {
    inputs.push_back(index(shape, 256));
    inputs.push_back(real({blocks}, 0.5, 1));
  }
  return {.name = name,
          .inputs = inputs,
          .call =
              [=](std::span<const Tensor> in) {
                const DType state = compute_dtype(in[0].dtype());
                CodedInputs copy{.param = clone(in[0].detach()),
                                 .grad = in[1].detach(),
                                 .step = contiguous(in[2]),
                                 .lr = full({}, kRate, {state, in[0].device()}),
                                 .slots = {}};
                for (size_t k = 3; k < in.size(); k += 2)
                  copy.slots.push_back({clone(cast(in[k].detach(), DType::u8)),
                                        clone(cast(in[k + 1].detach(), DType::f32))});
                call(copy);
                std::vector<Tensor> results{copy.param};
                for (const CodedSlot& slot : copy.slots) {
                  results.push_back(slot.codes);
                  results.push_back(slot.scales);
                }
                return results;
              },
          .reference =
              [=](const std::vector<Array>& in) {
                std::vector<Array> results{in[0]};
                results.insert(results.end(), in.begin() + 3, in.end());
                for (int64_t b = 0; b < blocks; ++b) {
                  const int64_t first = b * kCodedBlock, end = std::min(n, first + kCodedBlock);
                  std::vector<std::vector<double>> state;  // [element][slot]
                  for (int64_t i = first; i < end; ++i) {
                    std::vector<double> own;
                    for (size_t k = 0; k < is_signed.size(); ++k)
                      own.push_back(results[2 * k + 2][b] *
                                    dynamic_code_value(static_cast<int>(results[2 * k + 1][i]),
                                                       is_signed[k]));
                    element(results[0][i], in[1][i], own.data(), kRate, step);
                    state.push_back(own);
                  }
                  for (size_t k = 0; k < is_signed.size(); ++k) {
                    double& largest = results[2 * k + 2][b];
                    largest = 0;
                    for (const auto& own : state) largest = std::max(largest, std::abs(own[k]));
                    for (int64_t i = first; i < end; ++i) {
                      const double x = state[static_cast<size_t>(i - first)][k] / largest;
                      const int code = nearest_code(x, is_signed[k]);
                      results[2 * k + 1][i] = !is_signed[k] && x > 0 ? std::max(code, 1) : code;
                    }
                  }
                }
                return results;
              },
          .differentiable = false,
          // The scales are f32 for f64 parameters too.
          .dtypes = {DType::f32, DType::bf16, DType::f16}};
}

}  // namespace plimsoll
