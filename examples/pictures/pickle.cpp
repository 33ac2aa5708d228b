#include "examples/pictures/pickle.h"

#include "core/base/error.h"

namespace plimsoll::examples {
namespace {

// Elements appended to a list at once, as CPython does: readers in JavaScript take no long lists.
constexpr size_t kBatch = 1000;

// The low `bytes` bytes of a number, the lowest first.
void add_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void add_string(std::string& out, const std::string& text) {
  out += 'X';  // BINUNICODE
  add_number(out, text.size(), 4);
  out += text;
}

void add(std::string& out, const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      out += 'N';
      return;
    case Json::value_t::boolean:
      out += json.get<bool>() ? '\x88' : '\x89';
      return;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      out += '\x8a';  // LONG1: how many bytes, then two's complement
      out += '\x08';
      add_number(out, static_cast<uint64_t>(json.get<int64_t>()), 8);
      return;
    case Json::value_t::string:
      return add_string(out, json.get_ref<const std::string&>());
    case Json::value_t::array:
      out += ']';  // EMPTY_LIST
      for (size_t i = 0; i < json.size(); ++i) {
        if (i % kBatch == 0) out += '(';  // MARK
        add(out, json[i]);
        if (i % kBatch == kBatch - 1 || i + 1 == json.size()) out += 'e';  // APPENDS
      }
      return;
    case Json::value_t::object:
      out += "}(";  // EMPTY_DICT, MARK
      for (const auto& [key, value] : json.items()) {
        add_string(out, key);
        add(out, value);
      }
      out += 'u';  // SETITEMS
      return;
    default:
      fail<ValueError>("pickle: it takes no ", json.type_name(),
                       " that is not a whole number: ", json.dump(), ". Round it.");
  }
}

}  // namespace

std::string pickle(const Json& json) {
  std::string out = "\x80\x02";  // PROTO 2
  add(out, json);
  return out + '.';  // STOP
}

}  // namespace plimsoll::examples
