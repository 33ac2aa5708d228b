#include "data/text/jinja.h"

#include <utility>

namespace plimsoll::data {
namespace {

constexpr const char* kBlanks = " \t\r\n";

// Which quotes a place of a tag is in, read byte by byte; 0 outside of them.
class Quotes {
 public:
  // Whether this byte is one of those that begin or end a text.
  bool read(char c) {
    const bool escaped = std::exchange(escapes_, false);
    if (inside_ == 0 && (c == '\'' || c == '"')) {
      inside_ = c;
      return true;
    }
    if (inside_ == 0 || escaped) return false;
    escapes_ = c == '\\';
    if (c != inside_) return false;
    inside_ = 0;
    return true;
  }
  bool inside() const { return inside_ != 0; }

 private:
  char inside_ = 0;
  bool escapes_ = false;
};

// What stands between {{ and }} or {% and %} without blanks outside of quotes, with one kind of
// quotes and line ends in them as \n: versions of a template differ in these.
std::string squeezed(std::string_view tag) {
  std::string result;
  Quotes quotes;
  for (const char c : tag) {
    if (quotes.read(c))
      result += '\'';
    else if (c == '\n' && quotes.inside())
      result += "\\n";
    else if (quotes.inside() || (c != ' ' && c != '\n' && c != '\t'))
      result += c;
  }
  return result;
}

bool tag_begins(std::string_view text, size_t at) {
  return text[at] == '{' && at + 1 < text.size() &&
         (text[at + 1] == '{' || text[at + 1] == '%' || text[at + 1] == '#');
}

// Where the tag that begins at `begin` ends, behind its closing brackets.
size_t end_of_tag(std::string_view text, size_t begin) {
  const char kind = text[begin + 1], closing = kind == '{' ? '}' : kind;
  Quotes quotes;
  for (size_t i = begin + 2; i + 1 < text.size(); ++i) {
    if (kind != '#' && (quotes.read(text[i]) || quotes.inside())) continue;
    if (text[i] == closing && text[i + 1] == '}') return i + 2;
  }
  return text.size();
}

}  // namespace

// trim_blocks: the line end behind a {% %} or a comment is not printed. lstrip_blocks: nor are
// blanks in front of one in its line. A - in a tag: nor are all blanks on that side.
std::string normal_form(std::string_view published) {
  std::string jinja(published), result, outside;
  std::erase(jinja, '\r');  // of \r\n, which Jinja reads as \n
  bool trims = false;       // blanks behind the last tag
  bool line_begins = true;  // behind it
  for (size_t i = 0; i < jinja.size();) {
    if (!tag_begins(jinja, i)) {
      const bool blank = std::string_view(kBlanks).find(jinja[i]) != std::string_view::npos;
      trims = trims && blank;
      if (!trims) outside += jinja[i];
      ++i;
      continue;
    }
    const char kind = jinja[i + 1];
    const size_t end = end_of_tag(jinja, i);
    std::string inner = jinja.substr(i + 2, end - i - 4);
    if (inner.starts_with('-')) {
      inner.erase(0, 1);
      outside.erase(outside.find_last_not_of(kBlanks) + 1);
    } else if (kind != '{') {
      const size_t last = outside.find_last_not_of(" \t");
      if (last == outside.npos ? line_begins : outside[last] == '\n') outside.erase(last + 1);
    }
    result += std::exchange(outside, "");
    trims = inner.ends_with('-');
    if (trims) inner.pop_back();
    if (kind == '{') result += "{{" + squeezed(inner) + "}}";
    if (kind == '%') result += "{%" + squeezed(inner) + "%}";
    i = end;
    line_begins = kind != '{' && !trims && i < jinja.size() && jinja[i] == '\n';
    if (line_begins) ++i;
  }
  return result + outside;
}

}  // namespace plimsoll::data
