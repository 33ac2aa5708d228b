// PyTorch's cases, written with the engine's ops: tables by family, from an op's name to a function
// of one case's inputs and attributes.
//
//   {"elu", [](Case& c) { return one(elu(c["x|input"], c.number("alpha", {1, 0.5}))); }}
//
// Attributes that the manifest does not name are searched: every candidate is tried until results
// and gradients agree to f64's last digits, which hardly any other choice could make them do. Names
// that one thing goes by stand with bars between them: "dim|axis".
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/foreign/foreign.h"
#include "tests/foreign/onnx/windows.h"

namespace plimsoll::golden {

using Json = nlohmann::json;
using Tensors = std::map<std::string, Tensor>;
using Integers = std::vector<int64_t>;

using onnx::Unsupported;  // the case says something that the engine, or this reader, has not

// Which candidate each question gets, run by run: all combinations in order, the first ones first.
class Choices {
 public:
  size_t take(size_t candidates) {
    if (asked_ == picks_.size()) picks_.push_back({0, candidates});
    return picks_[asked_++].first;
  }
  void again() { asked_ = 0; }  // the same combination
  bool next() {                 // false: there is no other
    picks_.resize(asked_);      // a run that was refused half way asked no further
    asked_ = 0;
    while (!picks_.empty() && ++picks_.back().first == picks_.back().second) picks_.pop_back();
    return !picks_.empty();
  }

 private:
  std::vector<std::pair<size_t, size_t>> picks_;  // which, of how many
  size_t asked_ = 0;
};

// What was asked for at least once, over all runs of a case.
using Read = std::set<std::string>;

class Attributes {
 public:
  Attributes(const Json& attrs, Choices& choices, Read& read)
      : attrs_(attrs), choices_(choices), read_(read) {}

  bool has(const std::string& names) const { return find(names) != nullptr; }
  void known(const std::string& names) const;  // all of these count as read
  double number(const std::string& names, const std::vector<double>& candidates);
  int64_t integer(const std::string& names, const Integers& candidates);
  bool flag(const std::string& names, bool usual);  // the other one is the second candidate
  std::string text(const std::string& names, const std::vector<std::string>& candidates);
  // A single number is a list of one.
  std::vector<double> numbers(const std::string& names,
                              const std::vector<std::vector<double>>& candidates);
  Integers integers(const std::string& names, const std::vector<Integers>& candidates);

  // One of the candidates, where no attribute would say which.
  template <class T>
  T any(const std::vector<T>& candidates) {
    check<Unsupported>(!candidates.empty(), "nothing to choose from");
    return candidates[choices_.take(candidates.size())];
  }

 private:
  const Json* find(const std::string& names) const;

  const Json& attrs_;
  Choices& choices_;
  Read& read_;
};

class Case : public Attributes {
 public:
  // Inputs by the name after "in.", and the results that are expected: some attributes can be seen
  // from their shapes.
  Case(const Tensors& inputs, const Json& attrs, const std::vector<Tensor>& results,
       Choices& choices, Read& read)
      : Attributes(attrs, choices, read), inputs_(inputs), results_(results), read_(read) {}

  using Attributes::has;
  bool given(const std::string& names) const { return find_input(names) != nullptr; }
  Tensor operator[](const std::string& names) const;  // Unsupported: there is none
  Tensor optional(const std::string& names) const;    // undefined: there is none
  std::vector<Tensor> floating_inputs() const;        // all, by name
  Tensor mask(const std::string& names) const;        // bool
  // Gains and shifts of norms stay in f32 beside 16-bit values; `missing` where there is none.
  Tensor gain(const std::string& names, int64_t channels, double missing) const;

  const Tensor& result(size_t i = 0) const { return results_.at(i); }
  size_t results() const { return results_.size(); }

  // An axis, by "dim": the last one, or another.
  int64_t axis(int rank);
  // Axes, by "dim": all, or one or two of them.
  Shape axes(int rank);
  // By "keepdim", or as the result has it.
  Keep keep(int rank) {
    return flag("keepdim|keepdims", result().rank() == rank) ? Keep::ones : Keep::none;
  }
  // By "kernel" and so on: one number for both axes, or one for each.
  Pair pair(const std::string& names, const Integers& candidates);
  Scale scale(const std::string& names);
  Reduction reduction();

 private:
  const Tensor* find_input(const std::string& names) const;

  const Tensors& inputs_;
  const std::vector<Tensor>& results_;
  Read& read_;
};

using Results = std::vector<Tensor>;
using Run = std::function<Results(Case&)>;
using Table = std::map<std::string, Run>;

inline Results one(const Tensor& y) { return {y}; }
inline Shape shape_of(const Integers& sizes) { return Shape{std::span<const int64_t>(sizes)}; }

using onnx::channels_first;
using onnx::channels_last;

Table pointwise_table();
Table shape_table();
Table reduction_table();
Table product_table();
Table norm_and_loss_table();
Table block_table();

// The entry whose name the case's name begins with, or has in it; nullptr: there is none.
const Run* find_run(const std::string& name);

// Python writes NaN and Infinity, which JSON has not: they become strings.
Json parse_python(const std::string& text);

// Cases of optimizers and of clipping: "", or what is wrong. Unsupported.
std::string run_trajectory(const std::filesystem::path& folder, const Json& manifest,
                           const Json& entry);
std::string run_clipping(const std::filesystem::path& folder, const Json& entry);

// Folders that hold a file of this name: the one that PLIMSOLL_FOREIGN names, and those in it.
std::vector<std::filesystem::path> folders_with(const std::string& file);

}  // namespace plimsoll::golden
