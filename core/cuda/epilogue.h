// What cuBLASLt does with a product besides multiplying (its epilogues): on the way to memory, so
// that the result need not be read again.
//
//   product_with_epilogue(product, {.kind = Epilogue::Kind::gelu_tanh, .before = &h}, workspace)
//
// In types of 16 bits, for one matrix, which is not added to. Sums are in f32, and what is made of
// them is made before they are rounded: kernels one after another round in between. What the
// library does not take is done by such kernels (ways.h).
#pragma once

#include <string>

#include "core/cuda/product.h"

namespace plimsoll::cuda {

struct Epilogue {
  enum class Kind : uint8_t {
    none,
    gelu_tanh,       // c = gelu_tanh(a b + bias); `before`, if it is given, gets a b + bias
    gelu_tanh_grad,  // c = a b gelu_tanh'(before); sums[j], if they are given, is that of c[:, j]
    row_sums         // c = a b; sums[i] is that of a[i, :]
  };
  Kind kind = Kind::none;
  const View* before = nullptr;  // [m, n], n a multiple of 8, on a boundary of 16 bytes
  const View* sums = nullptr;    // a dense row
};

// By cuBLAS; false: it is not there, or does not take this. Null where the build has no vendor's
// libraries.
[[gnu::weak]] bool product_with_epilogue(const Product& product, const Epilogue& epilogue,
                                         std::span<std::byte> workspace);

// What multiplies: "cuBLAS 130200". Empty where it cannot be had; null as above.
[[gnu::weak]] std::string product_library();

}  // namespace plimsoll::cuda
