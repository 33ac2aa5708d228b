#include "nn/published/fields.h"

#include "data/file.h"

namespace plimsoll::published {

using Json = nlohmann::json;

std::string text_of(const Json& value) {
  return data::shown(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Fields::refuse(const std::string& name, const std::string& why,
                    const std::string& advice) const {
  const auto value = object_.find(name);
  fail<DataError>(reader_, ": ", why, ": ", file_, " has ",
                  value == object_.end() ? cat("no ", name) : cat(name, " ", text_of(*value)), ". ",
                  advice);
}

bool Fields::has(const std::string& name) const {
  const auto value = object_.find(name);
  return value != object_.end() && !value->is_null();
}

const Json* Fields::find(const std::string& name) {
  taken_.insert(name);
  return has(name) ? &object_.at(name) : nullptr;
}

const Json& Fields::take(const std::string& name) {
  static const Json none;
  const Json* const value = find(name);
  return value ? *value : none;
}

template <class T>
T Fields::taken(const std::string& name, const std::optional<T>& instead,
                bool (*is_one)(const Json&), const char* wrong) {
  const Json* const value = find(name);
  if (!value && instead) return *instead;
  if (!value) refuse(name, "a field is missing", "Use the file as it was published.");
  if (!is_one(*value)) refuse(name, wrong, "Use the file as it was published.");
  return value->get<T>();
}

int64_t Fields::whole(const std::string& name, std::optional<int64_t> instead) {
  const auto is_whole = [](const Json& value) {
    constexpr double kMost = int64_t{1} << 40;
    return value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= kMost;
  };
  return taken(name, instead, is_whole, "a field is no whole number from 0 on");
}
double Fields::number(const std::string& name, std::optional<double> instead) {
  return taken(
      name, instead, [](const Json& value) { return value.is_number(); }, "a field is no number");
}
bool Fields::truth(const std::string& name, std::optional<bool> instead) {
  return taken(
      name, instead, [](const Json& value) { return value.is_boolean(); },
      "a field is neither true nor false");
}
std::string Fields::text(const std::string& name, std::optional<std::string> instead) {
  return taken(
      name, instead, [](const Json& value) { return value.is_string(); }, "a field is no text");
}

void Fields::ignore(std::initializer_list<const char*> names) {
  for (const char* name : names) taken_.insert(name);
}

void Fields::only(const std::string& name, const Json& value) {
  const Json* const here = find(name);
  if (here && *here != value)
    refuse(name, "this is not done here", cat("Only ", text_of(value), " is."));
}

void Fields::check_all_taken(const std::string& of_what) const {
  for (const auto& [name, value] : object_.items()) {
    if (value.is_null() || name.starts_with("_") || taken_.contains(name)) continue;
    refuse(name, cat("a field of ", of_what, " is not known, and may change its numbers"),
           "Take it out if it does not.");
  }
}

}  // namespace plimsoll::published
