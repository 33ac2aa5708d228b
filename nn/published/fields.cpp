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

int64_t Fields::whole(const std::string& name, std::optional<int64_t> instead) {
  const Json* const value = find(name);
  if (!value && instead) return *instead;
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!value) refuse(name, "a field is missing", "Use the file as it was published.");
  if (!value->is_number_integer() || value->get<double>() < 0 ||
      value->get<double>() > static_cast<double>(kMost))
    refuse(name, "a field is no whole number from 0 on", "Use the file as it was published.");
  return value->get<int64_t>();
}

double Fields::number(const std::string& name, std::optional<double> instead) {
  const Json* const value = find(name);
  if (!value && instead) return *instead;
  if (!value) refuse(name, "a field is missing", "Use the file as it was published.");
  if (!value->is_number())
    refuse(name, "a field is no number", "Use the file as it was published.");
  return value->get<double>();
}

bool Fields::truth(const std::string& name, std::optional<bool> instead) {
  const Json* const value = find(name);
  if (!value && instead) return *instead;
  if (!value) refuse(name, "a field is missing", "Use the file as it was published.");
  if (!value->is_boolean())
    refuse(name, "a field is neither true nor false", "Use the file as it was published.");
  return value->get<bool>();
}

std::string Fields::text(const std::string& name, std::optional<std::string> instead) {
  const Json* const value = find(name);
  if (!value && instead) return *instead;
  if (!value) refuse(name, "a field is missing", "Use the file as it was published.");
  if (!value->is_string()) refuse(name, "a field is no text", "Use the file as it was published.");
  return value->get<std::string>();
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
