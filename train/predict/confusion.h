// Confusion: which classes are taken for which, and which images were.
//
//   const train::Confusion confusion(classifier.run(), images.labels);
//   std::printf("%s", confusion.text().c_str());
#pragma once

#include <string>

#include "train/predict/classifier.h"

namespace plimsoll::train {

class Confusion {
 public:
  // Of all images against `labels`. `names`: of the classes, or none. IndexError for what is no
  // class.
  Confusion(const Classified& classified, std::span<const int64_t> labels,
            std::vector<std::string> names = {});

  int64_t at(int64_t label, int64_t guess) const { return counts_[place(label, guess)]; }
  int64_t classes() const { return classes_; }
  int64_t of_class(int64_t label) const;  // images
  int64_t total() const;
  int64_t right() const;

  // "cross", or "2" where classes have no names.
  std::string name(int64_t label) const { return class_name(names_, label); }

  // A row for each class, a column for each guess, and last which share of the class was right.
  std::string text() const;

 private:
  size_t place(int64_t label, int64_t guess) const {
    check<IndexError>(0 <= label && label < classes_ && 0 <= guess && guess < classes_,
                      "confusion: there is no such class: ", label, " taken for ", guess, " of ",
                      classes_, ". Take labels of the classes that the model knows.");
    return static_cast<size_t>(label * classes_ + guess);
  }

  int64_t classes_;
  std::vector<int64_t> counts_;  // [label, guess]
  std::vector<std::string> names_;
};

struct Mistake {
  int64_t image, label;
  Prediction guess;
  float probability;  // of the label
};

// Images whose guess is wrong, those first whose label was the least likely: the highest losses. At
// most `most` of them.
std::vector<Mistake> worst_mistakes(const Classified& classified, std::span<const int64_t> labels,
                                    int64_t most);

}  // namespace plimsoll::train
