// Formulas (ops/formula.h) as parts of an OpDef: their attributes, their kernels of a GPU, and
// their text, from which kernels of several ops are generated.
//
//   {.name = Relu::name, .cuda = unary_cuda<Relu>, .code = code_of<element::Unary<Relu>>, ...}
#pragma once

#include <array>
#include <bit>

#include "core/cuda_kernel.h"
#include "core/op.h"
#include "ops/formula.h"

namespace plimsoll {

template <class F>
ConstantsOf<F> constants_of(const Attrs& attrs) {
  if constexpr (has_constants<F>)
    return attrs.as<ConstantsOf<F>>();
  else
    return {};
}

// Kernels of a GPU, defined in ops/pointwise.cuh for the formulas that a .cu file names.
template <class F>
PLIMSOLL_CUDA_KERNEL(unary_cuda);
template <class F>
PLIMSOLL_CUDA_KERNEL(unary_grad_cuda);
template <class F>
PLIMSOLL_CUDA_KERNEL(binary_cuda);

// "formulas::Relu": as it is called within the namespace of the engine, where generated kernels
// are.
template <class T>
std::string type_name() {
  std::string name = __PRETTY_FUNCTION__;
  name.erase(0, name.find("T = ") + 4);
  name.resize(name.find_first_of(";]"));
  const std::string engine = "plimsoll::";
  while (name.find(engine) != std::string::npos) name.erase(name.find(engine), engine.size());
  return name;
}

// Attributes as an expression that has their bits: constants<Attrs>({0x...}).
template <class A>
std::string text_of(const A& attrs) {
  const auto words = std::bit_cast<std::array<uint64_t, sizeof(A) / sizeof(uint64_t)>>(attrs);
  std::string list;
  for (const uint64_t word : words) list += cat(list.empty() ? "" : ", ", word, "u");
  return cat("constants<", type_name<A>(), ">({", list, "})");
}

// The function objects of ops/element.cuh, which only generated kernels define.
namespace element {
template <class F>
struct Unary;
template <class F>
struct Gradient;
template <class F>
struct Binary;
template <class F>
struct Ternary;
template <class F>
struct Compare;
template <class To>
struct Cast;
struct Copy;
struct Dropout;
struct Select;
}  // namespace element

// OpDef.code for one of them, with the op's attributes of type A if it has any.
template <class Element, class A = NoConstants>
std::string code_of([[maybe_unused]] const Attrs& attrs) {
  if constexpr (std::is_same_v<A, NoConstants>)
    return cat(type_name<Element>(), "{}");
  else
    return cat(type_name<Element>(), "{", text_of(attrs.as<A>()), "}");
}

}  // namespace plimsoll
