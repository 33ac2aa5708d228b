#include "examples/common/checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/tensor/bytes.h"

namespace plimsoll::examples {
namespace {

// The text as a T, all of it.
template <class T>
bool parse(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

// Refuses what is not a T for which `good` holds.
template <class T, class Good>
Check accept(const std::string& what, Good good) {
  return {[what, good](std::string& text) -> std::string {
            T value{};
            if (parse(text, value) && good(value)) {
              // "010" is ten, and the parser would read it as eight.
              if constexpr (std::is_integral_v<T>) text = std::to_string(value);
              return "";
            }
            return cat("not ", what, ": ", text.empty() ? "\"\"" : text);
          },
          ""};
}

}  // namespace

Check whole_number(int64_t least, int64_t most) {
  return accept<int64_t>(cat("a whole number from ", least, " to ", most),
                         [=](int64_t value) { return least <= value && value <= most; });
}

Check positive_number() {
  const Check above = accept<double>(
      "a number above 0", [](double value) { return value > 0 && std::isfinite(value); });
  const Check held = accept<double>("a number that f32 can hold", [](double value) {
    const auto single = static_cast<float>(value);
    return single > 0 && std::isfinite(single);
  });
  return {[above, held](std::string& text) {
            const std::string fault = above.fault(text);
            return fault.empty() ? held.fault(text) : fault;
          },
          ""};
}

Check plan_seconds() {
  return accept<double>("a number above 0 and below 1e9",
                        [](double value) { return value > 0 && value < 1e9; });
}

Check probability() {
  return accept<double>("a number from 0 to below 1",
                        [](double value) { return value >= 0 && value < 1; });
}

Check size_in_bytes(const std::string& example) {
  return {[example](std::string& text) -> std::string {
            try {
              parse_bytes(text);
              return "";
            } catch (const ValueError&) {
              return cat("not a size above 0, as in ", example, ": ", text.empty() ? "\"\"" : text);
            }
          },
          ""};
}

Check number_between(double least, double most) {
  return accept<double>(cat("a number from ", least, " to ", most),
                        [=](double value) { return least <= value && value <= most; });
}

Check loss_scale() {
  return {[](std::string& text) -> std::string {
            double value = 0;
            const bool number =
                parse(text, value) && value > 0 && std::isnormal(static_cast<float>(value));
            return number || text == "dynamic" || text == "none"
                       ? ""
                       : cat("not dynamic, none or a number above 0: ",
                             text.empty() ? "\"\"" : text);
          },
          ""};
}

Check not_empty() {
  return {[](std::string& text) -> std::string { return text.empty() ? "the name is empty" : ""; },
          ""};
}

Check one_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "{" : ",") + name;
  all += "}";
  return {[names, all](std::string& text) -> std::string {
            return std::ranges::count(names, text) > 0 ? "" : cat(text, " not in ", all);
          },
          all};
}

Check operator|(const Check& a, const Check& b) {
  return {[a, b](std::string& text) -> std::string {
            const std::string one = a.fault(text), other = b.fault(text);
            return one.empty() || other.empty() ? "" : cat("(", one, ") OR (", other, ")");
          },
          b.shown};
}

}  // namespace plimsoll::examples
