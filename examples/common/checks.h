// What an option's value may be, as checks of CLI11: a refusal names the option, the value and what
// is accepted. They read the text as it was typed, so 1.5, -1 or nan never becomes something else.
//
//   app.add_option("--steps", steps, "Training steps")->check(whole_number(1, kMany));
//   "--steps: not a whole number from 1 to 1000000000: -3"
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace plimsoll::examples {

// Bounds that keep sizes far from 63 bits and, in a model, from filling the memory unseen.
constexpr int64_t kMany = 1'000'000'000;      // steps, epochs, tokens
constexpr int64_t kLargestBatch = 1'000'000;  // examples
constexpr int64_t kWidest = 65'536;           // features
constexpr int64_t kDeepest = 1'000;           // layers, heads

CLI::Validator whole_number(int64_t least, int64_t most);
CLI::Validator positive_number();  // finite
CLI::Validator plan_seconds();     // as BudgetOptions::search_seconds may be
CLI::Validator probability();      // below 1
CLI::Validator loss_scale();       // "dynamic", "none", or a number above 0 that f32 can hold
CLI::Validator not_empty();

}  // namespace plimsoll::examples
