// A chat template's Jinja in the one form that versions share which print the same.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::data {

// The template as it is printed, by transformers' rules for blanks around tags, without comments;
// tags without blanks outside of quotes, and with one kind of quotes. It is for comparing, not for
// printing.
std::string normal_form(std::string_view published);

}  // namespace plimsoll::data
