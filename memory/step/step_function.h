// Turns a callable on tensors into core's StepFunction, which takes them as a span.
//
//   StepFunction f = step_function([](const Tensor& x, const Tensor& y) { return add(x, y); });
//   f(std::vector{x, y});              // {add(x, y)}
#pragma once

#include <concepts>

#include "core/engine/trace.h"

namespace plimsoll {

constexpr size_t kMaxStepInputs = 8;  // more come as a StepFunction

namespace detail {

template <size_t>
using InputAt = Tensor;

template <class F, class... Inputs>
constexpr bool takes = false;
template <class F, class... Inputs>
requires std::invocable<F&, const Inputs&...>
constexpr bool takes<F, Inputs...> =
    std::convertible_to<std::invoke_result_t<F&, const Inputs&...>, Tensor> ||
    std::convertible_to<std::invoke_result_t<F&, const Inputs&...>, std::vector<Tensor>>;

// The first n for which f accepts n tensors; kMaxStepInputs + 1 when there is none.
template <class F, size_t... I>
constexpr size_t count_inputs(std::index_sequence<I...>) {
  if constexpr (takes<F, InputAt<I>...> || sizeof...(I) > kMaxStepInputs)
    return sizeof...(I);
  else
    return count_inputs<F>(std::make_index_sequence<sizeof...(I) + 1>{});
}
template <class F>
constexpr size_t inputs_of = count_inputs<F>(std::index_sequence<>{});

template <class F, size_t... I>
StepFunction spread(F f, std::index_sequence<I...>) {
  return [f = std::move(f)](std::span<const Tensor> in) mutable -> std::vector<Tensor> {
    check<ValueError>(in.size() == sizeof...(I), "step: the number of inputs is wrong: ", in.size(),
                      " given, ", sizeof...(I),
                      " wanted. Pass one tensor for each parameter of the function.");
    return {f(in[I]...)};
  };
}

}  // namespace detail

// Takes up to kMaxStepInputs const Tensor& and returns a Tensor or a std::vector<Tensor>. How many
// is found by trying, so the parameters of a lambda are written out, not `auto`.
template <class F>
concept StepCallable = (detail::inputs_of<F> <= kMaxStepInputs);

// ValueError at the call when another number of tensors comes.
template <StepCallable F>
StepFunction step_function(F f) {
  return detail::spread(std::move(f), std::make_index_sequence<detail::inputs_of<F>>{});
}

}  // namespace plimsoll
