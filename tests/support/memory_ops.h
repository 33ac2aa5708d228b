// Ops for the tests of memory/: as few as show every declaration the planner reads. They compute in
// f32 on the cpu; on Device::null they only have shapes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "core/engine/apply.h"
#include "core/engine/trace.h"
#include "tests/support/errors.h"

namespace plimsoll::memory_test {

struct Factor {
  float value = 1;
  bool operator==(const Factor&) const = default;
};
struct Rows {
  int64_t begin = 0, end = 0;
  bool operator==(const Rows&) const = default;
};

template <class F>
void each(const Call& call, int output, F f) {
  const int64_t n = count(call.out[output].shape());
  for (int64_t i = 0; i < n; ++i) call.out[output].as<float>()[i] = f(i);
}

// out = a + b, and may lie on a.
inline constexpr OpDef plus_op{.name = "plus",
                               .infer = same_as_input,
                               .cpu =
                                   [](const Call& call) {
                                     const float *a = call.in[0].as<float>(),
                                                 *b = call.in[1].as<float>();
                                     each(call, 0, [&](int64_t i) { return a[i] + b[i]; });
                                   },
                               .inplace = 0};

// out = factor * x, and may lie on x.
inline constexpr OpDef scale_op{.name = "scale",
                                .infer = same_as_input,
                                .cpu =
                                    [](const Call& call) {
                                      const float *x = call.in[0].as<float>(),
                                                  factor = call.attrs.as<Factor>().value;
                                      each(call, 0, [&](int64_t i) { return factor * x[i]; });
                                    },
                                .inplace = 0};

// out = x backwards: would be wrong in place, and is not declared so.
inline constexpr OpDef flip_op{.name = "flip", .infer = same_as_input, .cpu = [](const Call& call) {
                                 const float* x = call.in[0].as<float>();
                                 const int64_t n = count(call.out[0].shape());
                                 each(call, 0, [&](int64_t i) { return x[n - 1 - i]; });
                               }};

// Two outputs: x + 1 and x - 1.
inline constexpr OpDef split_op{.name = "split",
                                .infer =
                                    [](std::span<const Meta> in, const Attrs&) {
                                      return Metas{in[0], in[0]};
                                    },
                                .cpu =
                                    [](const Call& call) {
                                      const float* x = call.in[0].as<float>();
                                      each(call, 0, [&](int64_t i) { return x[i] + 1; });
                                      each(call, 1, [&](int64_t i) { return x[i] - 1; });
                                    }};

// out[i] = (x[0] + ... + x[i]) / n, by way of the scratch, which is twice as large as it must be.
inline constexpr OpDef scan_op{
    .name = "scan",
    .infer = same_as_input,
    .cpu =
        [](const Call& call) {
          auto* scratch = reinterpret_cast<float*>(call.workspace.data());
          const int64_t n = count(call.out[0].shape());
          float sum = 0;
          for (int64_t i = 0; i < n; ++i) scratch[i] = sum += call.in[0].as<float>()[i];
          for (int64_t i = n; i < 2 * n; ++i) scratch[i] = -1;
          each(call, 0, [&](int64_t i) { return scratch[i] / static_cast<float>(n); });
        },
    .workspace = [](const Call& call) { return 2 * bytes_of(call.in[0].meta); }};

// total += x, in place.
inline constexpr OpDef add_to_op{
    .name = "add_to",
    .infer = [](std::span<const Meta>, const Attrs&) { return Metas{}; },
    .cpu =
        [](const Call& call) {
          const int64_t n = count(call.in[0].shape());
          for (int64_t i = 0; i < n; ++i) call.in[0].as<float>()[i] += call.in[1].as<float>()[i];
        },
    .mutates = bits(0)};

// Rows begin..end-1 of axis 0, a view.
inline constexpr OpDef rows_op{
    .name = "rows",
    .infer =
        [](std::span<const Meta> in, const Attrs& attrs) {
          Meta out = in[0];
          out.shape[0] = attrs.as<Rows>().end - attrs.as<Rows>().begin;
          return Metas{out};
        },
    .view =
        [](const Value& in, const Meta& out, const Attrs& attrs, int) {
          return Value{out, in.strides, in.offset + attrs.as<Rows>().begin * in.strides[0],
                       in.storage};
        }};

// Every other element of a vector, a view that is not contiguous.
inline constexpr OpDef evens_op{
    .name = "evens",
    .infer =
        [](std::span<const Meta> in, const Attrs&) {
          Meta out = in[0];
          out.shape[0] = (out.shape[0] + 1) / 2;
          return Metas{out};
        },
    .view =
        [](const Value& in, const Meta& out, const Attrs&, int) {
          return Value{out, Strides{2 * in.strides[0]}, in.offset, in.storage};
        }};

inline Tensor plus(const Tensor& a, const Tensor& b) { return apply1(plus_op, {a, b}); }
inline Tensor scale(const Tensor& x, float f) { return apply1(scale_op, {x}, Factor{f}); }
inline Tensor flip(const Tensor& x) { return apply1(flip_op, {x}); }
inline std::vector<Tensor> split(const Tensor& x) { return apply(split_op, {x}); }
inline Tensor scan(const Tensor& x) { return apply1(scan_op, {x}); }
inline void add_to(const Tensor& total, const Tensor& x) { apply(add_to_op, {total, x}); }
inline Tensor rows(const Tensor& x, int64_t begin, int64_t end) {
  return apply1(rows_op, {x}, Rows{begin, end});
}
inline Tensor evens(const Tensor& x) { return apply1(evens_op, {x}); }

inline Meta vec(int64_t n, Device device = Device::null) { return {{n}, DType::f32, device}; }

inline Tensor ramp(int64_t n, float start = 0) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(start + 0.25f * static_cast<float>(i));
  return Tensor::of<float>(std::span<const float>(values), {n});
}

}  // namespace plimsoll::memory_test
