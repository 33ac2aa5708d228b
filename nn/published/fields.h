// The fields of a JSON object, each taken once and with a type; what nobody took is refused.
//
//   Fields fields(json, "config", "config.json");
//   const int64_t width = fields.whole("hidden_size");
//   fields.ignore({"use_cache"});
//   fields.check_all_taken("LlamaForCausalLM");
//
// Every error is a DataError that names the file and the field.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/base/error.h"

namespace plimsoll::published {

class Fields {
 public:
  Fields(const nlohmann::json& object, std::string reader, std::string file)
      : object_(object), reader_(std::move(reader)), file_(std::move(file)) {}

  // Not there, or null, count alike.
  bool has(const std::string& name) const;
  bool knows(const std::string& name) const { return object_.contains(name); }  // null too
  // The field, which must be there unless there is something `instead`.
  int64_t whole(const std::string& name, std::optional<int64_t> instead = {});
  double number(const std::string& name, std::optional<double> instead = {});
  bool truth(const std::string& name, std::optional<bool> instead = {});
  std::string text(const std::string& name, std::optional<std::string> instead = {});
  const nlohmann::json& take(const std::string& name);  // null where it is not there

  // What is of no account for any number.
  void ignore(std::initializer_list<const char*> names);
  // A field that is done here only with one value, or not there.
  void only(const std::string& name, const nlohmann::json& value);
  // Refuses a field that nobody took and that is not null; names with a "_" in front are notes.
  void check_all_taken(const std::string& of_what) const;

  [[noreturn]] void refuse(const std::string& name, const std::string& why,
                           const std::string& advice) const;
  const std::string& file() const { return file_; }

 private:
  const nlohmann::json* find(const std::string& name);  // nullptr: none
  template <class T>
  T taken(const std::string& name, const std::optional<T>& instead,
          bool (*is_one)(const nlohmann::json&), const char* wrong);

  const nlohmann::json& object_;
  std::string reader_, file_;
  std::set<std::string> taken_;
};

// A value as a message has it, cut where it is long.
std::string text_of(const nlohmann::json& value);

}  // namespace plimsoll::published
