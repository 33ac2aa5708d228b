#include "examples/common/config_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "core/base/error.h"
#include "data/file.h"

namespace plimsoll::examples {
namespace {

std::string text_of(const std::string& file) {
  constexpr size_t kMost = size_t{1} << 20;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  char part[4096];
  while (text.size() <= kMost && (stream.read(part, sizeof part), stream.gcount() > 0))
    text.append(part, static_cast<size_t>(stream.gcount()));
  check<UsageError>(!text.empty() || stream.eof(), "--config: it cannot be read: ", file,
                    ". Name a file as --print-config prints it.");
  check<UsageError>(text.size() <= kMost, "--config ", file, ": the file is too large: more than ",
                    kMost, " bytes. --print-config prints one.");
  return text;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// As UTF-8; nothing for what is no character.
std::string utf8(uint32_t code) {
  std::string text;
  if (code < 0x80) return text += static_cast<char>(code);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return text;
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned char kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kFirst[more] | code >> (6 * more));
  for (int k = more; k-- > 0;) text += static_cast<char>(0x80 | (code >> (6 * k) & 0x3f));
  return text;
}

// One line after another, each read from left to right.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)), text_(text_of(file_)), rest_(text_) {}

  std::vector<Setting> all() {
    std::vector<Setting> settings;
    for (; !rest_.empty(); end_line()) {
      skip_spaces();
      if (at_end()) continue;
      if (rest_.front() == ';') {  // a comment of older kinds of config
        skip_to_end();
        continue;
      }
      Setting setting{.name = name(), .values = {"true"}, .place = place()};
      if (take('=')) setting.values = take('[') ? array() : std::vector{value("#")};
      const auto before = std::ranges::find(settings, setting.name, &Setting::name);
      require(before == settings.end(), "it is set twice: ", setting.name);
      settings.push_back(std::move(setting));
    }
    return settings;
  }

 private:
  std::string place() const { return cat(file_, ", line ", line_); }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail<UsageError>("--config ", place(), ": ", parts...,
                     ". Write lines as lr=0.1 or data=\"text:a.txt\".");
  }
  template <class... Parts>
  void require(bool good, const Parts&... parts) const {
    if (!good) refuse(parts...);
  }

  bool at_end() const { return rest_.empty() || rest_.front() == '\n' || rest_.front() == '#'; }
  void skip_spaces() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  void skip_to_end() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }
  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void end_line() {
    skip_spaces();
    if (!at_end()) refuse("something follows a value: ", data::shown(word("#\n")));
    skip_to_end();
    if (!rest_.empty()) rest_.remove_prefix(1);
    ++line_;
  }

  // Up to one of these characters, without the spaces around it.
  std::string word(std::string_view ends) {
    skip_spaces();
    std::string_view text = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(text.size());
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return std::string(text);
  }

  std::string name() {
    if (rest_.front() == '[') refuse("it has no tables: ", data::shown(word("\n")));
    if (rest_.front() == '"' || rest_.front() == '\'') return quoted();
    std::string text = word("=#\n");
    require(!text.empty(), "a name is missing before =");
    return text;
  }

  std::string value(std::string_view ends) {
    skip_spaces();
    if (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) return quoted();
    std::string text = word(std::string(ends) + '\n');
    require(!text.empty(), "a value is missing");
    return text;
  }

  // May go over several lines, with comments.
  std::vector<std::string> array() {
    std::vector<std::string> values;
    while (true) {
      skip_lines();
      if (take(']')) return values;
      values.push_back(value(",]#"));
      skip_lines();
      require(take(',') || rest_.front() == ']', "a comma is missing in an array");
    }
  }

  // To what an array goes on with.
  void skip_lines() {
    while (take('\n') || (!rest_.empty() && rest_.front() == '#')) {
      if (!rest_.empty() && rest_.front() == '#')
        skip_to_end();
      else
        ++line_;
    }
    require(!rest_.empty(), "an array does not end");
  }

  std::string quoted() {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    std::string text;
    while (true) {
      require(!rest_.empty() && rest_.front() != '\n', "a string does not end");
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == quote) return text;
      text += c == '\\' && quote == '"' ? escape() : std::string(1, c);
    }
  }

  std::string escape() {
    constexpr std::string_view kLetters = "btnfr\"\\", kMeant = "\b\t\n\f\r\"\\";
    const char c = rest_.empty() ? '\n' : rest_.front();
    if (const size_t k = kLetters.find(c); k != kLetters.npos) {
      rest_.remove_prefix(1);
      return std::string(1, kMeant[k]);
    }
    const size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    const std::string_view number = rest_.substr(0, digits + 1).substr(rest_.empty() ? 0 : 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), code, 16);
    const bool whole = error == std::errc() && end == number.data() + number.size();
    require(digits > 0 && number.size() == digits && whole && !utf8(code).empty(),
            "no such escape in a string: \\", data::shown(std::string(rest_.substr(0, 1))));
    rest_.remove_prefix(digits + 1);
    return utf8(code);
  }

  const std::string file_, text_;
  std::string_view rest_;
  int line_ = 1;
};

}  // namespace

std::vector<Setting> read_config(const std::string& file) { return Reader(file).all(); }

std::string to_toml(const std::string& value) {
  double number = 0;
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, number);
  if (value == "true" || value == "false" || (error == std::errc() && end == last)) return value;
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04X", byte);
      text += code;
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace plimsoll::examples
