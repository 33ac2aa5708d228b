// PNG: files made here by zlib alone, as the specification says, and ours read back.
#include "formats/picture_file.h"

#include "tests/data/testing.h"

namespace plimsoll::formats {
namespace {

using data::Bytes;
using data::Picture;

void append_number(Bytes& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<uint8_t>(value >> shift));
}

void append_chunk(Bytes& bytes, const std::string& type, const Bytes& content) {
  append_number(bytes, static_cast<uint32_t>(content.size()));
  const size_t begin = bytes.size();
  bytes.insert(bytes.end(), type.begin(), type.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  append_number(bytes, static_cast<uint32_t>(crc32(0, bytes.data() + begin,
                                                   static_cast<uInt>(bytes.size() - begin))));
}

struct Made {
  uint32_t width, height;
  uint8_t bits, kind;  // 0 grey, 2 colours, 3 palette, 4 grey and alpha, 6 colours and alpha
  Bytes rows;          // each with its filter in front
  Bytes palette = {}, transparent = {};
};

Bytes png(const Made& made) {
  Bytes bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, header;
  append_number(header, made.width);
  append_number(header, made.height);
  header.insert(header.end(), {made.bits, made.kind, 0, 0, 0});
  append_chunk(bytes, "IHDR", header);
  if (!made.palette.empty()) append_chunk(bytes, "PLTE", made.palette);
  if (!made.transparent.empty()) append_chunk(bytes, "tRNS", made.transparent);
  Bytes packed(compressBound(made.rows.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, made.rows.data(), made.rows.size());
  packed.resize(size);
  append_chunk(bytes, "IDAT", packed);
  append_chunk(bytes, "IEND", {});
  return bytes;
}

TEST(Png, EveryFilterIsUndone) {
  // none, left, above, mean, Paeth; worked out by hand
  const Made made{3, 5, 8, 0, {0, 10, 20, 30, 1, 1, 2, 3, 2, 5, 5, 5, 3, 100, 0, 1, 4, 1, 1, 255}};
  const Picture picture = parse_png(png(made), "f");
  EXPECT_EQ(std::tuple(picture.height, picture.width, picture.channels), std::tuple(5, 3, 1));
  EXPECT_EQ(picture.pixels, (Bytes{10, 20, 30, 1, 3, 6, 6, 8, 11, 103, 55, 34, 104, 56, 33}));
}

TEST(Png, PalettesAndFewBitsBecomeBytes) {
  EXPECT_EQ(parse_png(png({8, 1, 1, 0, {0, 0b10100001}}), "f").pixels,
            (Bytes{255, 0, 255, 0, 0, 0, 0, 255}));
  EXPECT_EQ(parse_png(png({2, 1, 4, 0, {0, 0x1f}}), "f").pixels, (Bytes{17, 255}));
  const Picture colours = parse_png(png({2, 1, 8, 3, {0, 1, 0}, {1, 2, 3, 4, 5, 6}}), "f");
  EXPECT_EQ(colours.channels, 3);
  EXPECT_EQ(colours.pixels, (Bytes{4, 5, 6, 1, 2, 3}));
}

TEST(Png, OursIsReadBack) {
  for (const int64_t channels : {1, 3}) {
    Picture picture{28, 31, channels, {}};
    for (int64_t i = 0; i < 28 * 31 * channels; ++i)
      picture.pixels.push_back(static_cast<uint8_t>(i * i / 7));
    const std::string bytes = png_of(picture);
    const Picture back = parse_png(Bytes(bytes.begin(), bytes.end()), "f");
    EXPECT_EQ(back.pixels, picture.pixels);
    EXPECT_EQ(std::tuple(back.height, back.width, back.channels), std::tuple(28, 31, channels));
  }
  EXPECT_THROW(png_of({2, 2, 2, Bytes(8)}), ValueError);
}

TEST(Png, RefusesWhatItWouldHaveToChange) {
  const auto refused = [](const Made& made, const std::string& message) {
    expect_error<DataError>([&] { parse_png(png(made), "f.png"); }, "png: " + message);
  };
  refused({1, 1, 16, 0, {0, 1, 2}}, "only 8 bits a channel are read: f.png has 16. Convert it.");
  const std::string transparent =
      "it has transparent pixels, and only grey and red, green, blue are read: f.png. Put it on a "
      "ground first.";
  refused({1, 1, 8, 4, {0, 1, 2}}, transparent);
  refused({1, 1, 8, 6, {0, 1, 2, 3, 4}}, transparent);
  refused({1, 1, 8, 3, {0, 0}, {1, 2, 3}, {0}}, transparent);
  refused({30000, 30000, 8, 0, {0, 1}},
          "the file is too short for its size: f.png claims 30000 x 30000 pixels in 67 bytes. "
          "Fetch it again.");
  refused({8300, 8300, 1, 0, Bytes(8300 * (1 + 1038))},
          "the picture is too large: f.png has 8300 x 8300 pixels, and at most 67108864 are read. "
          "Make it smaller.");
}

TEST(Png, RefusesEveryCutAndEveryDamage) {
  const Bytes good = png({2, 2, 8, 2, {0, 1, 2, 3, 4, 5, 6, 1, 7, 8, 9, 10, 11, 12}});
  EXPECT_EQ(parse_png(good, "f").pixels.size(), 12U);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(
        parse_png(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), "f"),
        DataError)
        << size;
  for (size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x10;
    EXPECT_THROW(parse_png(bad, "f"), DataError) << at;
  }
}

TEST(PictureFile, IsToldByItsFirstBytes) {
  const data::TemporaryFolder dir;
  EXPECT_EQ(read_picture(dir.write("a.jpg", std::string("P5 1 1 255 x"))).pixels, Bytes{'x'});
  EXPECT_EQ(read_picture(dir.write("b", png({1, 1, 8, 0, {0, 5}}))).pixels, Bytes{5});
  EXPECT_TRUE(error_of<DataError>([&] {
                read_picture(dir.write("d.png", std::string("\xff\xd8\xff")));
              }).starts_with("jpeg: the file is broken: " + dir.text("d.png") + ": "));
  expect_error<DataError>([&] { read_picture(dir.write("c.png", std::string("GIF89a"))); },
                          "picture: this is neither PNG nor JPEG nor PGM nor PPM: " +
                              dir.text("c.png") + ". Convert it to one of them.");
}

}  // namespace
}  // namespace plimsoll::formats
