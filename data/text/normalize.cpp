#include "data/text/normalize.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace plimsoll::data {
namespace {

std::string composed(std::string_view text) {
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &result,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size < 0) return std::string(text);  // no UTF-8
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  return {reinterpret_cast<const char*>(result), static_cast<size_t>(size)};
}

}  // namespace

std::string normalized(std::string_view text, const TextNormalization& how, bool is_first) {
  const std::string whole = how.nfc ? composed(text) : std::string(text);
  if (!how.marks || whole.empty()) return whole;
  std::string marked;
  for (const char c : whole) c == ' ' ? marked += kBlankMark : marked += c;
  const bool there = marked.starts_with(kBlankMark);
  const bool wanted = how.front == Front::always || (how.front == Front::unless_there && !there) ||
                      (how.front == Front::at_first && is_first && !there);
  return wanted ? std::string(kBlankMark) + marked : marked;
}

}  // namespace plimsoll::data
