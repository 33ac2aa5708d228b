// FirstNonfinite: under apply_mode().check_finite, goes on after an op that writes NaN or infinity,
// and keeps what would have been thrown: for those who only know afterwards whether it was wrong.
//
//   const FirstNonfinite first;                     // on this thread, until the scope ends
//   const Tensor loss = step(x, y);
//   check<NumericError>(first.text().empty() || skipped(), first.text());
#pragma once

#include <string>

namespace plimsoll {

class FirstNonfinite {
 public:
  FirstNonfinite();
  ~FirstNonfinite();
  FirstNonfinite(const FirstNonfinite&) = delete;
  FirstNonfinite& operator=(const FirstNonfinite&) = delete;

  // Of the innermost scope on this thread; nullptr: there is none, so the op throws.
  static std::string* current();

  const std::string& text() const { return text_; }  // empty: all that was written is finite

 private:
  std::string text_;
  std::string* previous_;
};

}  // namespace plimsoll
