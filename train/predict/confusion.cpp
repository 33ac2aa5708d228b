#include "train/predict/confusion.h"

#include <algorithm>
#include <cstdio>

namespace plimsoll::train {

Confusion::Confusion(const Classified& classified, std::span<const int64_t> labels,
                     std::vector<std::string> names)
    : classes_(classified.classes),
      counts_(static_cast<size_t>(classes_ * classes_)),
      names_(std::move(names)) {
  for (size_t i = 0; i < labels.size(); ++i) ++counts_[place(labels[i], classified.guesses[i])];
}

int64_t Confusion::of_class(int64_t label) const {
  int64_t sum = 0;
  for (int64_t guess = 0; guess < classes_; ++guess) sum += at(label, guess);
  return sum;
}

int64_t Confusion::total() const {
  int64_t sum = 0;
  for (const int64_t count : counts_) sum += count;
  return sum;
}

int64_t Confusion::right() const {
  int64_t sum = 0;
  for (int64_t label = 0; label < classes_; ++label) sum += at(label, label);
  return sum;
}

std::string Confusion::text() const {
  const size_t width = std::max<size_t>(5, cat(total()).size() + 2);
  std::vector<std::string> rows{"label \\ guess"};
  for (int64_t label = 0; label < classes_; ++label)
    rows.push_back(names_.empty() ? cat(label) : cat(label, " ", name(label)));
  size_t first = 0;
  for (const std::string& row : rows) first = std::max(first, row.size());
  std::string text;
  char cell[64];
  const auto begin = [&](const std::string& row) {
    text += row + std::string(first - row.size(), ' ');
  };
  begin(rows[0]);
  const auto add = [&](int64_t number) {
    const std::string digits = cat(number);
    text += std::string(width - digits.size(), ' ') + digits;
  };
  for (int64_t guess = 0; guess < classes_; ++guess) add(guess);
  text += "  right\n";
  for (int64_t label = 0; label < classes_; ++label) {
    begin(rows[static_cast<size_t>(label + 1)]);
    for (int64_t guess = 0; guess < classes_; ++guess) add(at(label, guess));
    const int64_t all = of_class(label);
    std::snprintf(cell, sizeof cell, all > 0 ? "  %.3f\n" : "  -\n",
                  static_cast<double>(at(label, label)) / static_cast<double>(all));
    text += cell;
  }
  return text;
}

std::vector<Mistake> worst_mistakes(const Classified& classified, std::span<const int64_t> labels,
                                    int64_t most) {
  std::vector<Mistake> mistakes;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t image = static_cast<int64_t>(i), guess = classified.guesses[i];
    const std::span<const float> p = classified.of(image);
    if (guess != labels[i])
      mistakes.push_back({image,
                          labels[i],
                          {guess, p[static_cast<size_t>(guess)]},
                          p[static_cast<size_t>(labels[i])]});
  }
  std::ranges::stable_sort(mistakes, {}, &Mistake::probability);
  if (std::ssize(mistakes) > most) mistakes.resize(static_cast<size_t>(most));
  return mistakes;
}

}  // namespace plimsoll::train
