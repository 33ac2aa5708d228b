// Shared by the op suites: one GoogleTest parameter per (family, case).
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "autograd/gradients.h"
#include "core/cpu/parallel.h"
#include "core/engine/apply.h"
#include "tests/support/op_case.h"

namespace plimsoll {

struct SuiteParam {
  std::string family;
  OpCase op_case;
};
inline void PrintTo(const SuiteParam& param, std::ostream* out) {
  *out << param.family << " " << param.op_case.name;
}

// Where PLIMSOLL_BF16 says how bfloat16 is multiplied: the cases with products, in that type alone.
// Nothing else depends on it.
std::vector<SuiteParam> all_cases();
std::string param_name(const testing::TestParamInfo<SuiteParam>& info);

// The case's outputs followed by the gradients of its differentiable inputs, for a fixed covector:
// what must not change by one bit from mode to mode.
std::vector<Tensor> outputs_and_gradients(const OpCase& op_case, std::span<const Tensor> inputs);

// The same tensor at other addresses or strides: equal values, storage of its own.
Tensor as_strided_copy(const Tensor& tensor);

// Until its end kernels cut their work into pieces of so many elements: small tensors into many.
class PieceScope {
 public:
  explicit PieceScope(int64_t elements)
      : before_(std::exchange(detail::piece_elements, elements)) {}
  ~PieceScope() { detail::piece_elements = before_; }
  PieceScope(const PieceScope&) = delete;
  PieceScope& operator=(const PieceScope&) = delete;

 private:
  int64_t before_;
};

#define PLIMSOLL_SUITE(Name)                                                    \
  class Name : public testing::TestWithParam<plimsoll::SuiteParam> {};          \
  INSTANTIATE_TEST_SUITE_P(Ops, Name, testing::ValuesIn(plimsoll::all_cases()), \
                           plimsoll::param_name);                               \
  TEST_P(Name, Holds)

}  // namespace plimsoll
