// What check_finite finds goes to the innermost scope, and is the first that was found.
#include "core/engine/first_nonfinite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/engine/apply.h"
#include "ops/ops.h"

namespace plimsoll {
namespace {

ApplyMode checking() {
  ApplyMode mode = apply_mode();
  mode.check_finite = true;
  return mode;
}

TEST(FirstNonfinite, KeepsTheFirstAndGoesOn) {
  const ApplyModeScope mode(checking());
  const FirstNonfinite first;
  const Tensor x = full({2}, 1), zero = zeros({2});
  EXPECT_EQ(first.text(), "");
  EXPECT_TRUE(std::isinf((x / zero).to_vector<float>()[1]));
  log(x - 2);
  EXPECT_TRUE(first.text().starts_with("div: output 0 holds NaN or infinity")) << first.text();
}

TEST(FirstNonfinite, ScopesNestAndEndWithErrorsToo) {
  const ApplyModeScope mode(checking());
  const Tensor x = full({2}, 1), zero = zeros({2});
  {
    const FirstNonfinite outer;
    try {
      const FirstNonfinite inner;
      x / zero;
      EXPECT_NE(inner.text(), "");
      throw std::runtime_error("test");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(outer.text(), "");
    x / zero;
    EXPECT_NE(outer.text(), "");
  }
  EXPECT_THROW(x / zero, NumericError);
}

}  // namespace
}  // namespace plimsoll
