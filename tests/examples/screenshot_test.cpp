// The pages of --report and of compare_memory in a real browser, where there is one: Debian's
// chromium, or the program named by PLIMSOLL_CHROMIUM.
#include <zlib.h>

#include <set>

#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;

// A browser's name; empty where there is none.
std::string browser() {
  if (const char* named = std::getenv("PLIMSOLL_CHROMIUM")) return named;
  for (const char* name : {"chromium", "google-chrome"})
    if (std::system(cat("command -v ", name, " > /dev/null 2>&1").c_str()) == 0) return name;
  return "";
}

// What the browser prints. It keeps its own files in `dir`.
std::string browse(const TemporaryFolder& dir, const std::string& arguments) {
  const std::string command =
      cat("HOME=", dir.path().string(), " timeout 120 ", browser(),
          " --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1366,768 "
          "--user-data-dir=",
          dir.text("profile"), " ", arguments, " 2> /dev/null");
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  pclose(pipe);
  return output;
}

struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;  // [height, width, channels]
};

// A PNG of 8 bits without interlacing. Source: W3C's Portable Network Graphics specification.
Image decode_png(const std::string& file) {
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(file[at + i]);
    return value;
  };
  Image image;
  std::string packed;
  for (size_t at = 8; at + 12 <= file.size(); at += number(at) + 12) {
    const std::string type = file.substr(at + 4, 4);
    if (type == "IHDR") {
      image.width = static_cast<int>(number(at + 8));
      image.height = static_cast<int>(number(at + 12));
      image.channels = file[at + 17] == 6 ? 4 : 3;
    } else if (type == "IDAT") {
      packed += file.substr(at + 8, number(at));
    }
  }
  const int row = image.width * image.channels;
  std::vector<uint8_t> raw(static_cast<size_t>(image.height) * (row + 1));
  uLongf size = raw.size();
  EXPECT_EQ(
      uncompress(raw.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
      Z_OK);
  image.pixels.resize(static_cast<size_t>(image.height) * row);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* line = raw.data() + static_cast<size_t>(y) * (row + 1);
    uint8_t* out = image.pixels.data() + static_cast<size_t>(y) * row;
    for (int x = 0; x < row; ++x) {
      const int left = x < image.channels ? 0 : out[x - image.channels];
      const int above = y == 0 ? 0 : out[x - row];
      const int corner = y == 0 || x < image.channels ? 0 : out[x - row - image.channels];
      const int from_left = std::abs(above - corner), from_above = std::abs(left - corner),
                from_corner = std::abs(left + above - 2 * corner);
      const int paeth = from_left <= from_above && from_left <= from_corner ? left
                        : from_above <= from_corner                         ? above
                                                                            : corner;
      const int guesses[] = {0, left, above, (left + above) / 2, paeth};
      out[x] = static_cast<uint8_t>(line[1 + x] + guesses[line[0]]);
    }
  }
  return image;
}

// The page as the browser makes it; how many marks or rectangles its script drew.
std::string document_of(const TemporaryFolder& dir, const std::string& page, int* drawn) {
  std::string dom;  // the browser itself may give up, and prints nothing
  for (int tries = 0; tries < 5 && dom.empty(); ++tries) dom = browse(dir, "--dump-dom " + page);
  EXPECT_EQ(dom.find("data-error"), dom.rfind("data-error"))  // only where the script says so
      << dom.substr(0, 400);
  const size_t at = dom.find("data-drawn=\"");
  EXPECT_NE(at, std::string::npos) << "the script did not end: " << dom.substr(0, 400);
  *drawn = at == std::string::npos ? 0 : std::stoi(dom.substr(at + 12));
  return dom;
}

// In dark and in light: the ground, and a share of the pixels in the colours of what is drawn.
void expect_readable(const TemporaryFolder& dir, const std::string& page, double least_coloured) {
  for (const bool dark : {true, false}) {
    SCOPED_TRACE(dark ? "dark" : "light");
    const std::string file = dir.text(dark ? "dark.png" : "light.png");
    // The browser itself gives up on about one picture in ten.
    for (int tries = 0; tries < 5 && !std::filesystem::exists(file); ++tries)
      browse(dir, cat("--blink-settings=preferredColorScheme=", dark ? 0 : 1,
                      " --screenshot=", file, " ", page));
    const Image image = decode_png(data::read_text(file));
    ASSERT_EQ(image.width, 1366);
    ASSERT_EQ(image.height, 768);
    double brightness = 0;
    std::set<std::tuple<int, int, int>> colors;
    int64_t coloured = 0;  // pixels of areas, rectangles and marks: neither text nor ground
    for (size_t i = 0; i < image.pixels.size(); i += static_cast<size_t>(image.channels)) {
      const int r = image.pixels[i], g = image.pixels[i + 1], b = image.pixels[i + 2];
      brightness += (r + g + b) / 3.0;
      colors.insert({r, g, b});
      coloured += std::max({r, g, b}) - std::min({r, g, b}) > 60;
    }
    const double pixels = 1366 * 768;
    EXPECT_GT(colors.size(), 100U);
    EXPECT_GT(static_cast<double>(coloured) / pixels, least_coloured);
    EXPECT_LT(static_cast<double>(coloured) / pixels, 0.5);
    if (dark)
      EXPECT_LT(brightness / pixels, 90);
    else
      EXPECT_GT(brightness / pixels, 180);
  }
}

TEST(Screenshot, OfTheReportShowsItInLightAndDark) {
  if (browser().empty()) GTEST_SKIP() << "there is no chromium";
  const TemporaryFolder dir;
  const Outcome outcome =
      run("train_transformer --plan-only --layers 2 --width 64 --budget 16MiB --cost model "
          "--plan-seconds 0.2 --report " +
          dir.text("gpt.html"));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = "file://" + dir.text("gpt.html");
  int drawn = 0;
  const std::string dom = document_of(dir, page, &drawn);
  EXPECT_GT(drawn, 50);
  EXPECT_NE(dom.find("Without recompute it holds "), std::string::npos);
  EXPECT_NE(dom.find("budget 16.0 MiB</text>"), std::string::npos);
  expect_readable(dir, page, 0.05);
}

TEST(Screenshot, OfTheComparisonShowsEveryRowInLightAndDark) {
  if (browser().empty()) GTEST_SKIP() << "there is no chromium";
  const TemporaryFolder dir;
  const Outcome outcome =
      run("compare_memory --models resnet8,sepcnn --batches 8 --precisions f32,bf16 --steps 2 "
          "--budgets 1,smallest --html " +
          dir.text("table.html"));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = "file://" + dir.text("table.html");
  int drawn = 0;
  const std::string dom = document_of(dir, page, &drawn);
  EXPECT_EQ(drawn, 2 * 2 * 5);  // one percent is refused
  EXPECT_NE(dom.find("<h2>resnet8, batch 8</h2>"), std::string::npos);
  EXPECT_NE(dom.find(" is less than any plan found</td>"), std::string::npos);
  size_t lines = 0;
  for (size_t at = 0; (at = dom.find("<td>captured</td>", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 2U * 2 * 4);
  expect_readable(dir, page, 0.0005);
}

}  // namespace
}  // namespace plimsoll::examples
