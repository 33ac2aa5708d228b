#include "data/images/netpbm.h"

#include <algorithm>

#include "core/base/error.h"

namespace plimsoll::data {
namespace {

bool is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

class Reader {
 public:
  Reader(const Bytes& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  size_t left() const { return bytes_.size() - at_; }
  const uint8_t* here() const { return bytes_.data() + at_; }
  void skip(size_t count) { at_ += count; }

  void skip_space() {
    for (; left() > 0 && (is_space(*here()) || *here() == '#'); ++at_)
      if (*here() == '#')
        while (left() > 1 && *here() != '\n' && *here() != '\r') ++at_;
  }
  // A number up to `most`, behind white space.
  int64_t number(const char* what, int64_t most) {
    const size_t before = at_;
    skip_space();
    check<DataError>(left() > 0, "netpbm: the file ends before the ", what, ": ", name_, " has ",
                     bytes_.size(), " bytes. Fetch it again.");
    check<DataError>(at_ > before && is_digit(*here()), "netpbm: there is no ", what, " at byte ",
                     at_, " of ", name_, ". Fetch it again.");
    int64_t value = 0;
    for (; left() > 0 && is_digit(*here()) && value <= most; ++at_)
      value = 10 * value + (*here() - '0');
    check<DataError>(value <= most, "netpbm: the ", what, " is too large: ", name_,
                     " has more than ", most,
                     ". Only pictures of 8 bits and ordinary sizes are read: convert it.");
    return value;
  }

 private:
  const Bytes& bytes_;
  const std::string& name_;
  size_t at_ = 2;
};

constexpr int64_t kLongest = 1 << 20;  // side; two of them multiply without overflow

}  // namespace

bool is_netpbm(const Bytes& bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' && is_digit(bytes[1]);
}

Picture parse_netpbm(const Bytes& bytes, const std::string& name) {
  check<DataError>(is_netpbm(bytes), "netpbm: this is no NetPBM file: ", name,
                   " does not begin with P2, P3, P5 or P6. Name a PGM or PPM file.");
  const char kind = static_cast<char>(bytes[1]);
  const bool colour = kind == '3' || kind == '6', binary = kind == '5' || kind == '6';
  check<DataError>(colour || binary || kind == '2',
                   "netpbm: only P2, P3, P5 and P6 are read: ", name, " is P", std::string(1, kind),
                   ". Convert it to PGM or PPM.");
  Reader reader(bytes, name);
  Picture picture{.height = 0, .width = 0, .channels = colour ? 3 : 1, .pixels = {}};
  picture.width = reader.number("width", kLongest);
  picture.height = reader.number("height", kLongest);
  const int64_t largest = reader.number("largest value", 65535);
  check<DataError>(largest == 255, "netpbm: only pictures of 8 bits are read, where 255 is the "
                   "largest value: ", name, " has ", largest, ". Convert it.");
  check<DataError>(picture.width > 0 && picture.height > 0, "netpbm: it has no pixels: ", name,
                   " is ", picture.height, " x ", picture.width, ". Fetch it again.");
  const auto count = static_cast<size_t>(picture.height * picture.width * picture.channels);
  if (binary) {
    check<DataError>(reader.left() > 0 && is_space(*reader.here()),
                     "netpbm: no white space ends the header: ", name, ". Fetch it again.");
    reader.skip(1);
  }
  check<DataError>(reader.left() >= count && (!binary || reader.left() == count),
                   "netpbm: header and content do not match: ", name, " claims ", count,
                   " values and has ", reader.left(), " bytes of them. Fetch it again.");
  if (binary) {
    picture.pixels.assign(reader.here(), reader.here() + count);
    return picture;
  }
  picture.pixels.reserve(count);
  for (size_t i = 0; i < count; ++i)
    picture.pixels.push_back(static_cast<uint8_t>(reader.number("value", 255)));
  reader.skip_space();
  check<DataError>(reader.left() == 0, "netpbm: something follows the pixels: ", name, " has ",
                   reader.left(), " bytes more. Fetch it again.");
  return picture;
}

}  // namespace plimsoll::data
