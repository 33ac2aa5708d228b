// Pictures: NetPBM files as they should and should not be, and pictures made to fit a net.
#include "data/images/picture.h"

#include "data/images/netpbm.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

Picture parse(const std::string& text) {
  return parse_netpbm(Bytes(text.begin(), text.end()), "f.pnm");
}

void expect_refused(const std::string& text, const std::string& message) {
  expect_error<DataError>([&] { parse(text); }, "netpbm: " + message);
}

TEST(Netpbm, ReadsGreyAndColourBinaryAndDecimal) {
  const Picture grey = parse(std::string("P5 3 2 255\n\0\1\2\3\4\377", 17));
  EXPECT_EQ(std::tuple(grey.height, grey.width, grey.channels), std::tuple(2, 3, 1));
  EXPECT_EQ(grey.pixels, (Bytes{0, 1, 2, 3, 4, 255}));
  const Picture colour = parse("P6\n# by hand\n2 1\n255\nabcdef");
  EXPECT_EQ(std::tuple(colour.height, colour.width, colour.channels), std::tuple(1, 2, 3));
  EXPECT_EQ(colour.pixels, (Bytes{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(parse("P2 2 2 255  0 17\n# half\n 255 3\n# end").pixels, (Bytes{0, 17, 255, 3}));
  EXPECT_EQ(parse("P3 1 1 255 1 2 3\n").pixels, (Bytes{1, 2, 3}));
  EXPECT_EQ(parse("P5 2 1 255\n# ").pixels, (Bytes{'#', ' '}));  // pixels, no comment
}

TEST(Netpbm, RefusesAllElse) {
  expect_refused("GIF89a",
                 "this is no NetPBM file: f.pnm does not begin with P2, P3, P5 or P6. Name a PGM "
                 "or PPM file.");
  expect_refused("P4 8 1 a",
                 "only P2, P3, P5 and P6 are read: f.pnm is P4. Convert it to PGM or PPM.");
  expect_refused("P5 2 1 65535 aaaa",
                 "only pictures of 8 bits are read, where 255 is the largest value: f.pnm has "
                 "65535. Convert it.");
  expect_refused("P5 2 1 15 aa",
                 "only pictures of 8 bits are read, where 255 is the largest value: f.pnm has 15. "
                 "Convert it.");
  expect_refused("P5 0 1 255 ", "it has no pixels: f.pnm is 1 x 0. Fetch it again.");
  expect_refused("P5 2 2 255 abc",
                 "header and content do not match: f.pnm claims 4 values and has 3 bytes of them. "
                 "Fetch it again.");
  expect_refused("P5 2 2 255 abcde",
                 "header and content do not match: f.pnm claims 4 values and has 5 bytes of them. "
                 "Fetch it again.");
  expect_refused("P2 2 1 255 1 256",
                 "the value is too large: f.pnm has more than 255. Only pictures of 8 bits and "
                 "ordinary sizes are read: convert it.");
  expect_refused("P2 2 1 255 1 -2", "there is no value at byte 13 of f.pnm. Fetch it again.");
  expect_refused("P2 1 1 255 1 2",
                 "something follows the pixels: f.pnm has 1 bytes more. Fetch it again.");
  expect_refused("P5 2", "the file ends before the height: f.pnm has 4 bytes. Fetch it again.");
  EXPECT_THROW(parse("P5 99999999999999999999 2 255 "), DataError);
  EXPECT_THROW(parse("P5 1048576 1048576 255 "), DataError);
  EXPECT_THROW(parse("P52 2 255 abcd"), DataError);
}

TEST(Pictures, FitWhereNothingIsLost) {
  const Picture grey{1, 2, 1, {7, 200}};
  const Picture colour = fitted(grey, "f", {1, 2, 3});
  EXPECT_EQ(colour.pixels, (Bytes{7, 7, 7, 200, 200, 200}));
  EXPECT_EQ(fitted(colour, "f", {1, 2, 1}).pixels, grey.pixels);  // and back
  const Picture red{1, 1, 3, {255, 0, 0}};
  expect_error<DataError>(
      [&] {
        fitted(red, "f.png", {1, 1, 1});
      },
      "picture: it has colours, and grey is wanted: f.png. Make it grey, or "
      "allow --grey.");
  EXPECT_EQ(fitted(red, "f", {1, 1, 1}, {.grey = true}).pixels, (Bytes{76}));
  expect_error<DataError>(
      [&] {
        fitted(grey, "f.png", {28, 28, 1});
      },
      "picture: it is of another size: f.png has 1 x 2 pixels, wanted are 28 "
      "x 28. Cut it to that size, or allow --resize.");
}

TEST(Pictures, AreResizedAsTrianglesSay) {
  // Twice as wide: pixels lie a quarter beside those that are there.
  EXPECT_EQ(resized({1, 2, 1, {0, 100}}, 1, 4).pixels, (Bytes{0, 25, 75, 100}));
  // Half as wide: over four pixels in the middle, and at a side over the three that are there.
  EXPECT_EQ(resized({1, 4, 1, {8, 16, 32, 80}}, 1, 2).pixels,
            (Bytes{15, 50}));  // (3 8 + 3 16 + 32) / 7, (16 + 3 32 + 3 80) / 7
  EXPECT_EQ(resized({1, 6, 1, {8, 8, 8, 8, 8, 8}}, 3, 1).pixels, (Bytes{8, 8, 8}));
  const Picture picture{2, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  EXPECT_EQ(resized(picture, 2, 2).pixels, picture.pixels);
  EXPECT_THROW(resized(picture, 0, 2), ValueError);
}

}  // namespace
}  // namespace plimsoll::data
