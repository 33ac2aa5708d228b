// How a case says what it means: attributes, inputs, names.
#include "tests/foreign/pytorch/pytorch.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace plimsoll::golden {
namespace {

std::vector<std::string> split_at(const std::string& text, char mark) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(mark, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

double number_of(const Json& value) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text == "inf" || text == "Infinity") return inf;
  if (text == "-inf" || text == "-Infinity") return -inf;
  fail<Unsupported>("an attribute is no number: ", text);
}

int64_t integer_of(const Json& value) { return static_cast<int64_t>(number_of(value)); }

}  // namespace

const Json* Attributes::find(const std::string& names) const {
  for (const std::string& name : split_at(names, '|')) {
    const auto found = attrs_.find(name);
    if (found == attrs_.end()) continue;
    read_.insert(name);
    if (!found->is_null()) return &*found;
  }
  return nullptr;
}

void Attributes::known(const std::string& names) const {
  for (const std::string& name : split_at(names, '|')) read_.insert(name);
}

double Attributes::number(const std::string& names, const std::vector<double>& candidates) {
  const Json* value = find(names);
  return value ? number_of(*value) : any(candidates);
}

int64_t Attributes::integer(const std::string& names, const Integers& candidates) {
  const Json* value = find(names);
  return value ? integer_of(*value) : any(candidates);
}

bool Attributes::flag(const std::string& names, bool usual) {
  const Json* value = find(names);
  return value ? number_of(*value) != 0 : any<int>({usual, !usual}) != 0;
}

std::string Attributes::text(const std::string& names, const std::vector<std::string>& candidates) {
  const Json* value = find(names);
  if (!value) return any(candidates);
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::vector<double> Attributes::numbers(const std::string& names,
                                        const std::vector<std::vector<double>>& candidates) {
  const Json* value = find(names);
  if (!value) return any(candidates);
  if (!value->is_array()) return {number_of(*value)};
  std::vector<double> list;
  for (const Json& item : *value) list.push_back(number_of(item));
  return list;
}

Integers Attributes::integers(const std::string& names, const std::vector<Integers>& candidates) {
  if (!has(names)) return any(candidates);
  const std::vector<double> list = numbers(names, {});
  return {list.begin(), list.end()};
}

const Tensor* Case::find_input(const std::string& names) const {
  for (const std::string& name : split_at(names, '|'))
    if (const auto found = inputs_.find(name); found != inputs_.end()) {
      read_.insert("in." + name);
      return &found->second;
    }
  return nullptr;
}

Tensor Case::operator[](const std::string& names) const {
  const Tensor* found = find_input(names);
  check<Unsupported>(found, "no input is named ", names);
  return *found;
}

Tensor Case::optional(const std::string& names) const {
  const Tensor* found = find_input(names);
  return found ? *found : Tensor();
}

std::vector<Tensor> Case::floating_inputs() const {
  std::vector<Tensor> all;
  for (const auto& [name, tensor] : inputs_)
    if (is_floating(tensor.dtype())) all.push_back((*this)[name]);
  return all;
}

Tensor Case::mask(const std::string& names) const { return cast((*this)[names], DType::boolean); }

Tensor Case::gain(const std::string& names, int64_t channels, double missing) const {
  const bool wide = std::any_of(inputs_.begin(), inputs_.end(), [](const auto& input) {
    return input.second.dtype() == DType::f64;
  });
  const DType dtype = wide ? DType::f64 : DType::f32;
  const Tensor* found = find_input(names);
  return found ? cast(*found, dtype) : full({channels}, missing, {.dtype = dtype});
}

int64_t Case::axis(int rank) {
  Integers candidates{-1};
  for (int i = 0; i + 1 < rank; ++i) candidates.push_back(i);
  return integer("dim|axis", candidates);
}

Shape Case::axes(int rank) {
  Integers all;
  for (int i = 0; i < rank; ++i) all.push_back(i);
  std::vector<Integers> candidates{all};
  for (int i = rank - 1; i >= 0; --i) candidates.push_back({i});
  for (int i = 0; i < rank; ++i)
    for (int j = i + 1; j < rank && rank > 2; ++j) candidates.push_back({i, j});
  const Integers axes = integers("dim|dims|axis|axes", candidates);
  return shape_of(axes.empty() ? all : axes);
}

Pair Case::pair(const std::string& names, const Integers& candidates) {
  std::vector<Integers> lists;
  for (const int64_t both : candidates) lists.push_back({both});
  const Integers found = integers(names, lists);
  check<Unsupported>(found.size() == 1 || found.size() == 2, names, " for another rank");
  return {found.front(), found.back()};
}

Scale Case::scale(const std::string& names) {
  const std::vector<double> found = numbers(names, {});
  check<Unsupported>(found.size() == 1 || found.size() == 2, names, " for another rank");
  return {found.front(), found.back()};
}

Reduction Case::reduction() { return onnx::reduction(text("reduction", {"mean", "sum", "none"})); }

const Run* find_run(const std::string& name) {
  static const Table all = [] {
    Table entries;
    for (const auto& family : {pointwise_table(), shape_table(), reduction_table(), product_table(),
                               norm_and_loss_table(), block_table()})
      for (const auto& [key, run] : family) {
        std::string plain = key;  // "layer_norm" is "layernorm" too
        std::erase(plain, '_');
        entries[plain] = run;
      }
    return entries;
  }();
  std::vector<std::string> words = split_at(name, '_');
  if (words.front() == "act") words.erase(words.begin());
  const Run* best = nullptr;
  size_t length = 0;
  for (size_t first = 0; first < words.size(); ++first) {
    std::string joined;
    for (size_t i = first; i < words.size(); ++i) {
      joined += words[i];
      auto found = all.find(joined);
      if (found == all.end())  // "pow3"
        found = all.find(joined.substr(0, joined.find_last_not_of("0123456789") + 1));
      if (found == all.end() || joined.size() <= length) continue;
      best = &found->second;
      length = joined.size();
    }
    if (first == 0 && best) break;  // what the name begins with is the op, what follows a variant
  }
  return best;
}

Json parse_python(const std::string& text) {
  std::string json;
  bool quoted = false, escaped = false;  // escaped: after an odd number of backslashes
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"' && !escaped) quoted = !quoted;
    escaped = text[i] == '\\' && !escaped;
    size_t length = 0;
    for (const char* word : {"-Infinity", "Infinity", "NaN"})
      if (!quoted && length == 0 && text.compare(i, std::strlen(word), word) == 0)
        length = std::strlen(word);
    json += length ? '"' + text.substr(i, length) + '"' : text.substr(i, 1);
    i += std::max<size_t>(length, 1);
  }
  return Json::parse(json);
}

std::vector<std::filesystem::path> folders_with(const std::string& file) {
  const std::filesystem::path root = *foreign::folder();
  std::vector<std::filesystem::path> found;
  if (std::filesystem::exists(root / file)) found.push_back(root);
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (std::filesystem::exists(entry.path() / file)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace plimsoll::golden
