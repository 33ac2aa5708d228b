// The sentences of errors, compared whole.
//
//   expect_error<ShapeError>([&] { matmul(a, b); }, "matmul: inner sizes differ: ...");
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace plimsoll {

// The text of the E that f() throws.
template <class E, class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class E, class F>
void expect_error(const F& f, const std::string& message) {
  EXPECT_EQ(error_of<E>(f), message);
}

}  // namespace plimsoll
