#include "ops/update/average_update/average_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

OpCase updates(const char* name, Shape shape, double keep) {
  return update_case(
      name, shape, 2, {},
      [=](const UpdateInputs& in) {
        average_update(in.param, in.grad, in.step, in.lr, {.keep = keep});
      },
      [=](double& mean, double x, double*, double, double) {
        mean = keep * mean + (1 - keep) * x;
      });
}

}  // namespace

OpCases average_update_cases() {
  return {.good = {updates("matrix", {5, 7}, 0.95), updates("newest", {5, 7}, 0),
                   updates("scalar", {}, 0.5), updates("empty", {0, 3}, 0.5),
                   updates("many_pieces", {40001}, 0.9)},
          .bad = {{"keep",
                   [] {
                     average_update(ones({2}), ones({2}), ones({}, {.dtype = DType::i64}), ones({}),
                                    {.keep = 1});
                   },
                   "average_update: keep is out of range: 1. Use 0 <= keep < 1."}}};
}

}  // namespace plimsoll
