#include "ops/matmul/addmm/addmm.h"

#include "ops/random/full/full.h"
#include "tests/support/broadcast_reference.h"

namespace plimsoll {
namespace {

OpCase sums(const char* name, Shape c, AddmmOptions options = {}, int64_t inner = 3) {
  return {.name = name,
          .inputs = {real(c), real({2, inner}), real({inner, 4})},
          .call = [=](auto in) { return std::vector{addmm(in[0], in[1], in[2], options)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y({2, 4});
                for (int64_t i = 0; i < 8; ++i) {
                  for (int64_t k = 0; k < inner; ++k)
                    y[i] += options.alpha * in[1][i / 4 * inner + k] * in[2][k * 4 + i % 4];
                  y[i] += options.beta * broadcast_at(in[0], {2, 4}, i);
                }
                return std::vector{y};
              }};
}

OpCase not_read() {
  OpCase c = sums("not_read", {2, 4}, {.beta = 0});
  c.inputs[0] = given({2, 4}, std::vector<double>(8, kNaN));
  c.reference = [inner = c.reference](std::vector<Array> in) {
    in[0] = Array({2, 4});
    return inner(in);
  };
  c.differentiable = false;
  return c;
}

}  // namespace

OpCases addmm_cases() {
  return {.good = {sums("plain", {2, 4}), sums("weighted", {2, 4}, {.beta = 0.5, .alpha = -2}),
                   sums("row", {4}, {.beta = 3}), sums("column", {2, 1}), sums("scalar", {}),
                   sums("no_inner", {2, 4}, {.beta = 2}, 0), not_read()},
          .bad = {{"undefined",
                   [] {
                     addmm(Tensor(), ones({2, 3}), ones({3, 2}));
                   },
                   "addmm: the tensor is undefined. Pass one that was computed."},
                  {"larger",
                   [] {
                     addmm(ones({3, 2, 2}), ones({2, 3}), ones({3, 2}));
                   },
                   "addmm: what is added is larger than the product: [3, 2, 2] and [2, 2]. Give "
                   "what broadcasts to the product."}}};
}

}  // namespace plimsoll
