#include <cstdio>

#include <jpeglib.h>

#include <csetjmp>

#include "core/base/error.h"
#include "formats/picture_file.h"

namespace plimsoll::formats {
namespace {

using data::Picture;

constexpr JDIMENSION kLongest = 1 << 15;  // side
// Bytes of pixels that one byte of the file stands for. An 8 x 8 block takes a bit of a progressive
// file: 614 in colours with the coarsest sampling of two channels, and twice that at most.
constexpr int64_t kMostPacked = 2048;
constexpr int kMostScans = 100;  // each goes over the whole picture, and may take few bytes

struct Reader {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back;
  char said[JMSG_LENGTH_MAX] = "";  // what is wrong
  ~Reader() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void leave(j_common_ptr jpeg, const char* said) {
  auto& reader = *static_cast<Reader*>(jpeg->client_data);
  if (said)
    std::snprintf(reader.said, sizeof reader.said, "%s", said);
  else
    jpeg->err->format_message(jpeg, reader.said);
  std::longjmp(reader.back, 1);
}

[[noreturn]] void keep_error(j_common_ptr jpeg) { leave(jpeg, nullptr); }

// libjpeg warns (level -1) of damage that it can paint over.
void refuse_warnings(j_common_ptr jpeg, int level) {
  if (level < 0) leave(jpeg, nullptr);
}

void count_scans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMostScans)
    leave(jpeg, "it has too many scans");
}

// libjpeg leaves these two by longjmp: nothing in them has a destructor. False: it did.
bool read_header(Reader& reader, const data::Bytes& bytes) {
  if (setjmp(reader.back)) return false;
  jpeg_decompress_struct& jpeg = reader.jpeg;
  jpeg.err = jpeg_std_error(&reader.errors);
  jpeg.client_data = &reader;
  reader.errors.error_exit = keep_error;
  reader.errors.emit_message = refuse_warnings;
  jpeg_create_decompress(&jpeg);  // keeps err and client_data
  reader.progress.progress_monitor = count_scans;
  jpeg.progress = &reader.progress;
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}
bool read_pixels(Reader& reader, uint8_t* pixels) {
  if (setjmp(reader.back)) return false;
  jpeg_decompress_struct& jpeg = reader.jpeg;
  jpeg_start_decompress(&jpeg);
  const size_t row = size_t{jpeg.output_width} * static_cast<size_t>(jpeg.output_components);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW line = pixels + jpeg.output_scanline * row;
    jpeg_read_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

}  // namespace

Picture parse_jpeg(const data::Bytes& bytes, const std::string& name) {
  Reader reader;
  check<DataError>(read_header(reader, bytes), "jpeg: the file is broken: ", name, ": ",
                   reader.said, ". Fetch or write it again.");
  const jpeg_decompress_struct& jpeg = reader.jpeg;
  check<DataError>(jpeg.num_components == 1 || jpeg.num_components == 3,
                   "jpeg: only grey and colours of three parts are read: ", name, " has ",
                   jpeg.num_components, " parts. Convert it.");
  check<DataError>(!jpeg.arith_code, "jpeg: arithmetic coding is not read: ", name,
                   ". Convert it to PNG.");
  const bool fits = jpeg.image_height <= kLongest && jpeg.image_width <= kLongest;
  check<DataError>(fits, "jpeg: it is too large: ", name, " has ", jpeg.image_height, " x ",
                   jpeg.image_width, " pixels, and a side has at most ", kLongest,
                   ". Make it smaller.");
  Picture picture{.height = jpeg.image_height,
                  .width = jpeg.image_width,
                  .channels = jpeg.num_components,
                  .pixels = {}};
  const int64_t size = picture.height * picture.width * picture.channels;
  check<DataError>(size <= kMostPacked * std::ssize(bytes),
                   "jpeg: the file is too short for its size: ", name, " claims ", picture.height,
                   " x ", picture.width, " pixels in ", bytes.size(), " bytes. Fetch it again.");
  picture.pixels.resize(static_cast<size_t>(size));
  check<DataError>(read_pixels(reader, picture.pixels.data()), "jpeg: the file is broken: ", name,
                   ": ", reader.said, ". Fetch or write it again.");
  return picture;
}

}  // namespace plimsoll::formats
