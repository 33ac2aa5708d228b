// What an option's value may be: a refusal names the option, the value and what is accepted. They
// read the text as it was typed, so 1.5, -1 or nan never becomes something else.
//
//   app.add_option("--steps", steps, "Training steps")->check(whole_number(1, kMany));
//   "--steps: not a whole number from 1 to 1000000000: -3"
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll::examples {

// Bounds that keep sizes far from 63 bits and, in a model, from filling the memory unseen.
constexpr int64_t kMany = 1'000'000'000;      // steps, epochs, tokens
constexpr int64_t kLargestBatch = 1'000'000;  // examples
constexpr int64_t kWidest = 65'536;           // features
constexpr int64_t kDeepest = 1'000;           // layers, heads

struct Check {
  std::function<std::string(std::string&)> fault;  // "" for what is accepted; it may mend the text
  std::string shown;                               // in --help
};
Check operator|(const Check& a, const Check& b);  // what either of them accepts

Check whole_number(int64_t least, int64_t most);
Check positive_number();                          // above 0 and finite in f32
Check plan_seconds();                             // as BudgetOptions::search_seconds may be
Check probability();                              // below 1
Check size_in_bytes(const std::string& example);  // above 0, as parse_bytes() reads it
Check loss_scale();  // "dynamic", "none", or a number above 0 that f32 can hold
Check number_between(double least, double most);
Check not_empty();
Check one_of(const std::vector<std::string>& names);

}  // namespace plimsoll::examples
