// JPEG: files that libjpeg writes here, compared with what was written and with Pillow.
#include "formats/picture_file.h"
#include "tests/data/testing.h"
#include "tests/support/jpeg_of.h"
#include "tests/support/python.h"

namespace plimsoll::formats {
namespace {

using data::Bytes;
using data::Picture;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// Smooth, so that little of it is lost.
Picture smooth(int64_t height, int64_t width, int64_t channels) {
  Picture picture{height, width, channels, {}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c)
        picture.pixels.push_back(static_cast<uint8_t>(40 + 3 * x + 2 * y + 20 * c));
  return picture;
}

TEST(Jpeg, IsNearlyWhatWasWritten) {
  for (const int64_t channels : {1, 3})
    for (const bool progressive : {false, true}) {
      const Picture written = smooth(21, 35, channels);
      const Picture read =
          parse_jpeg(bytes_of(jpeg_of(written, {.quality = 95, .progressive = progressive})), "f");
      EXPECT_EQ(std::tuple(read.height, read.width, read.channels), std::tuple(21, 35, channels));
      ASSERT_EQ(read.pixels.size(), written.pixels.size());
      for (size_t i = 0; i < read.pixels.size(); ++i)
        EXPECT_NEAR(read.pixels[i], written.pixels[i], 6) << i;
    }
}

TEST(Jpeg, IsWhatPillowReads) {
  NEEDS_PYTHON("PIL, numpy");
  const data::TemporaryFolder dir;
  for (const int64_t channels : {1, 3}) {
    const std::string bytes = jpeg_of(smooth(21, 35, channels), {.quality = 60});
    dir.write("a.jpg", bytes);
    const std::string program =
        "import sys, numpy, PIL.Image as i; print(*numpy.asarray(i.open(sys.argv[1])).ravel())";
    const Outcome outcome = python::run_words({"-c", program, dir.text("a.jpg")});
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    std::string said;
    for (const uint8_t pixel : read_picture(dir.text("a.jpg")).pixels)
      said += cat(said.empty() ? "" : " ", int{pixel});
    EXPECT_EQ(outcome.output, said + "\n");
  }
}

TEST(Jpeg, RefusesWhatIsNotRead) {
  const auto refused = [](const std::string& bytes) {
    return error_of<DataError>([&] { parse_jpeg(bytes_of(bytes), "f"); });
  };
  EXPECT_EQ(refused(jpeg_of(smooth(8, 16, 1), {.four_parts = true})),
            "jpeg: only grey and colours of three parts are read: f has 4 parts. Convert it.");
  EXPECT_EQ(refused(jpeg_of(smooth(8, 16, 1), {.arithmetic = true})),
            "jpeg: arithmetic coding is not read: f. Convert it to PNG.");
  const std::string good = jpeg_of(smooth(21, 35, 3));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused(good.substr(0, size)).starts_with("jpeg: the file is broken: f: ")) << size;
  EXPECT_EQ(refused(good.substr(0, good.size() - 20)),
            "jpeg: the file is broken: f: Premature end of JPEG file. Fetch or write it again.");
}

TEST(Jpeg, RefusesSizesThatTheFileIsTooShortFor) {
  std::string bytes = jpeg_of(smooth(8, 8, 1));
  const size_t sof = bytes.find("\xff\xc0");
  ASSERT_NE(sof, std::string::npos);
  bytes[sof + 5] = bytes[sof + 7] = 0x70;  // 28680 x 28680
  EXPECT_EQ(error_of<DataError>([&] { parse_jpeg(bytes_of(bytes), "f"); }),
            cat("jpeg: the file is too short for its size: f claims 28680 x 28680 pixels in ",
                bytes.size(), " bytes. Fetch it again."));
}

}  // namespace
}  // namespace plimsoll::formats
