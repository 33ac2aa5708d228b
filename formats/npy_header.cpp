#include "formats/npy_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace plimsoll::formats {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kBoundary = 64;

struct Type {
  DType dtype;
  std::string_view descr;
};
constexpr Type kTypes[] = {{DType::f64, "<f8"},    {DType::f32, "<f4"}, {DType::f16, "<f2"},
                           {DType::i64, "<i8"},    {DType::i32, "<i4"}, {DType::u8, "|u1"},
                           {DType::boolean, "|b1"}};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: these keys in any order, once.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader read() {
    bool descr = false, order = false, shape = false;
    require('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      require(':');
      bool& seen = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if (seen || (&seen == &shape && key != "shape")) damaged();
      seen = true;
      if (key == "descr")
        header_.meta.dtype = dtype();
      else if (key == "fortran_order")
        header_.fortran = boolean();
      else
        header_.meta.shape = tuple();
      if (!accept(',')) {
        require('}');
        break;
      }
    }
    skip();
    if (!text_.empty() || !descr || !order || !shape) damaged();
    return header_;
  }

 private:
  [[noreturn]] void damaged() const {
    fail<DataError>("npy: the header is not that of an array: in ", name_,
                    ". Write it with numpy.save.");
  }
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool accept(char c) {
    skip();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void require(char c) {
    if (!accept(c)) damaged();
  }
  std::string_view quoted() {
    const char mark = accept('\'') ? '\'' : '"';
    if (mark == '"') require('"');
    const size_t end = text_.find(mark);
    if (end == text_.npos) damaged();
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return word;
  }
  bool boolean() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return word == "True";
      }
    damaged();
  }
  DType dtype() {
    skip();
    check<DataError>(!text_.starts_with('['), "npy: the elements are records: in ", name_,
                     ". Write each field as an array of its own.");
    const std::string_view descr = quoted();
    const auto type = std::ranges::find(kTypes, descr, &Type::descr);
    if (type != std::end(kTypes)) return type->dtype;
    constexpr size_t kLongest = 20;
    std::string shown(descr.substr(0, kLongest));
    for (char& c : shown)
      if (c < ' ' || c > '~') c = '?';
    check<DataError>(!descr.starts_with('>'), "npy: the numbers are big-endian: '", shown, "' in ",
                     name_, ". Write x.astype(x.dtype.newbyteorder('<')).");
    fail<DataError>("npy: elements of type '", shown, "' are not read: in ", name_,
                    ". Write x.astype('float32'), or another of f8 f4 f2 i8 i4 u1 b1.");
  }
  Shape tuple() {
    Shape shape;
    require('(');
    while (!accept(')')) {
      skip();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0) damaged();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      check<DataError>(shape.rank() < kMaxRank, "npy: there are more than ", kMaxRank, " axes: in ",
                       name_, ". Write x.reshape(...) with fewer.");
      shape.push_back(size);
      if (accept(',')) continue;
      require(')');
      if (shape.rank() == 1) damaged();  // (3) is a number in Python, (3,) a tuple
      break;
    }
    return shape;
  }

  std::string_view text_;
  const std::string& name_;
  NpyHeader header_;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check<DataError>(text.size() >= 10 && text.starts_with(kMagic),
                   "npy: this is not a .npy file: ", name, ". Write it with numpy.save.");
  const int version = static_cast<unsigned char>(text[6]);
  check<DataError>(version >= 1 && version <= 3 && text[7] == 0,
                   "npy: the format's version is not known: ", version, ".",
                   int{static_cast<unsigned char>(text[7])}, " in ", name,
                   ". Write it with numpy.save.");
  const size_t width = version == 1 ? 2 : 4, begin = 8 + width;  // of the length; where it ends
  uint32_t length = 0;
  if (text.size() >= begin) std::memcpy(&length, text.data() + 8, width);
  check<DataError>(text.size() >= begin && length <= text.size() - begin,
                   "npy: the file ends in its header: ", name, " has ", text.size(),
                   " bytes. Fetch it again.");
  NpyHeader header = Reader(text.substr(begin, length), name).read();
  header.length = begin + length;
  return header;
}

std::string npy_header(const Tensor& tensor) {
  check<StateError>(tensor.defined(), "npy: the tensor is undefined. Pass one that was computed.");
  const auto type = std::ranges::find(kTypes, tensor.dtype(), &Type::dtype);
  check<DTypeError>(type != std::end(kTypes), "npy: NumPy has no ", tensor.dtype(),
                    ". Write cast(x, DType::f32).");
  std::string shape;
  for (const int64_t size : tensor.shape()) shape += cat(shape.empty() ? "" : ", ", size);
  if (tensor.rank() == 1) shape += ',';  // (3) is a number in Python, (3,) a tuple
  std::string text =
      cat("{'descr': '", type->descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kFront = 10;  // magic, version, length
  const size_t total = (kFront + text.size() + 1 + kBoundary - 1) / kBoundary * kBoundary;
  text.resize(total - kFront - 1, ' ');
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());
  std::string front(kMagic);
  front += {'\1', '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return front + text;
}

}  // namespace plimsoll::formats
