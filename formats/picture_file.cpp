#include "formats/picture_file.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "core/base/error.h"
#include "data/images/netpbm.h"

namespace plimsoll::formats {
namespace {

using data::Bytes;
using data::Picture;

constexpr png_uint_32 kLongest = 1 << 15;  // side
constexpr size_t kMostPacked = 1032;       // bytes that one byte of a deflate stream stands for
constexpr int64_t kMostPixels = int64_t{1} << 26;

struct Input {
  const Bytes& bytes;
  size_t at = 0;
  char said[160] = "";  // what libpng finds wrong
};

void read_bytes(png_structp png, png_bytep out, size_t count) {
  auto& input = *static_cast<Input*>(png_get_io_ptr(png));
  if (count > input.bytes.size() - input.at) png_error(png, "it ends too early");
  std::memcpy(out, input.bytes.data() + input.at, count);
  input.at += count;
}

[[noreturn]] void keep_error(png_structp png, png_const_charp message) {
  auto& input = *static_cast<Input*>(png_get_error_ptr(png));
  std::snprintf(input.said, sizeof input.said, "%s", message);
  png_longjmp(png, 1);
}

void keep_silent(png_structp, png_const_charp) {}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

// libpng leaves these two by longjmp: nothing in them has a destructor. False: it did.
bool read_header(const Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_user_limits(reader.png, kLongest, kLongest);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(reader.png, reader.info);
  return true;
}
bool read_pixels(const Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_expand(reader.png);  // palettes and fewer bits
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

}  // namespace

Picture parse_png(const Bytes& bytes, const std::string& name) {
  Input input{bytes};
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input, keep_error, keep_silent);
  if (reader.png) reader.info = png_create_info_struct(reader.png);
  check<DataError>(reader.info != nullptr, "png: libpng could not be started. Free some memory.");
  png_set_read_fn(reader.png, &input, read_bytes);
  check<DataError>(read_header(reader), "png: the file is broken: ", name, ": ", input.said,
                   ". Fetch or write it again.");
  const int bits = png_get_bit_depth(reader.png, reader.info);
  check<DataError>(bits <= 8, "png: only 8 bits a channel are read: ", name, " has ", bits,
                   ". Convert it.");
  const int kind = png_get_color_type(reader.png, reader.info);
  check<DataError>(
      !(kind & PNG_COLOR_MASK_ALPHA) && !png_get_valid(reader.png, reader.info, PNG_INFO_tRNS),
      "png: it has transparent pixels, and only grey and red, green, blue are read: ", name,
      ". Put it on a ground first.");
  Picture picture{.height = png_get_image_height(reader.png, reader.info),
                  .width = png_get_image_width(reader.png, reader.info),
                  .channels = kind & PNG_COLOR_MASK_COLOR ? 3 : 1,
                  .pixels = {}};
  const size_t row = static_cast<size_t>(picture.width * picture.channels);
  const size_t packed = png_get_rowbytes(reader.png, reader.info);
  check<DataError>(static_cast<size_t>(picture.height) * packed <= kMostPacked * bytes.size(),
                   "png: the file is too short for its size: ", name, " claims ", picture.height,
                   " x ", picture.width, " pixels in ", bytes.size(), " bytes. Fetch it again.");
  check<DataError>(picture.height * picture.width <= kMostPixels,
                   "png: the picture is too large: ", name, " has ", picture.height, " x ",
                   picture.width, " pixels, and at most ", kMostPixels,
                   " are read. Make it smaller.");
  picture.pixels.resize(static_cast<size_t>(picture.height) * row);
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < picture.height; ++y)
    rows.push_back(picture.pixels.data() + static_cast<size_t>(y) * row);
  check<DataError>(read_pixels(reader, rows.data()), "png: the file is broken: ", name, ": ",
                   input.said, ". Fetch or write it again.");
  return picture;
}

std::string png_of(const Picture& picture) {
  const bool fits = picture.height > 0 && picture.width > 0 &&
                    (picture.channels == 1 || picture.channels == 3) &&
                    std::ssize(picture.pixels) == picture.height * picture.width * picture.channels;
  check<ValueError>(fits, "png: this is no picture: ", picture.height, " x ", picture.width, " x ",
                    picture.channels, " with ", picture.pixels.size(),
                    " bytes. Give it 1 or 3 channels and a byte for each.");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(picture.height);
  image.width = static_cast<png_uint_32>(picture.width);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  const bool written = png_image_write_to_memory(&image, bytes.data(), &size, 0,
                                                 picture.pixels.data(), 0, nullptr) != 0;
  check<Error>(written, "png: libpng does not write it: ", image.message, ". Free some memory.");
  bytes.resize(size);
  return bytes;
}

Picture read_picture(const std::filesystem::path& file) {
  constexpr int64_t kMost = int64_t{1} << 28;
  const Bytes bytes = data::read_file(file, kMost);
  if (data::is_netpbm(bytes)) return data::parse_netpbm(bytes, file.string());
  const bool jpeg = bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
  if (jpeg) return parse_jpeg(bytes, file.string());
  const bool png = bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
  check<DataError>(png, "picture: this is neither PNG nor JPEG nor PGM nor PPM: ", file.string(),
                   ". Convert it to one of them.");
  return parse_png(bytes, file.string());
}

}  // namespace plimsoll::formats
