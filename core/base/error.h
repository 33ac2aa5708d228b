// Errors: every refusal is one sentence, `op: what is wrong: the values. What to do.`
//
//   check<ShapeError>(k == k2, "matmul: inner sizes differ: ", a, " x ", b, ". Transpose one.");
//
// The type says what kind of mistake it was, so that a program can tell a usage error from a full
// memory. Nothing is changed by a call that throws.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "core/base/text.h"

namespace plimsoll {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ShapeError : Error {
  using Error::Error;
};  // sizes, axes, ranks
struct DTypeError : Error {
  using Error::Error;
};  // element types
struct DeviceError : Error {
  using Error::Error;
};  // wrong or missing device
struct IndexError : Error {
  using Error::Error;
};  // labels, token ids, element indices
struct ValueError : Error {
  using Error::Error;
};  // any other argument
struct StateError : Error {
  using Error::Error;
};  // right call, wrong moment
struct NumericError : Error {
  using Error::Error;
};  // NaN or infinity where none may be
struct DataError : Error {
  using Error::Error;
};  // files and datasets
struct UsageError : Error {
  using Error::Error;
};  // command lines
struct BudgetError : Error {
  using Error::Error;
};  // a memory budget that no plan meets
struct OutOfMemory : Error {
  using Error::Error;
};  // recoverable: nothing was taken

template <class E, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw E(cat(parts...));
}

// The message is only put together when the check fails.
template <class E, class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail<E>(parts...);
}

}  // namespace plimsoll
