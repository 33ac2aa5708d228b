// read_file: plain, gzipped, and everything that is wrong with a file.
#include "tests/data_testing.h"

namespace plimsoll::data {
namespace {

const Bytes kHello = {'h', 'e', 'l', 'l', 'o'};

TEST(DataFile, ReadsPlainAndGzippedFiles) {
  const TemporaryFolder dir;
  EXPECT_EQ(read_file(dir.write("plain", kHello)), kHello);
  EXPECT_EQ(read_file(dir.write("packed", gzip(kHello))), kHello);
  EXPECT_EQ(read_file(dir.write("empty", Bytes{})), Bytes{});
  EXPECT_EQ(read_file(dir.write("packed_empty", gzip({}))), Bytes{});
  EXPECT_EQ(read_text(dir / "packed"), "hello");
}

TEST(DataFile, JoinsTheMembersOfAGzipFile) {
  const TemporaryFolder dir;
  Bytes two = gzip(kHello);
  const Bytes second = gzip({'!'});
  two.insert(two.end(), second.begin(), second.end());
  EXPECT_EQ(read_text(dir.write("two.gz", two)), "hello!");
}

TEST(DataFile, GrowsWithWhatIsUnpacked) {
  const TemporaryFolder dir;
  Bytes large(3'000'000);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<uint8_t>(i * i >> 8);
  EXPECT_EQ(read_file(dir.write("large.gz", gzip(large))), large);
}

TEST(DataFile, RefusesWhatIsNotAFile) {
  const TemporaryFolder dir;
  EXPECT_EQ(error_of<DataError>([&] { read_file(dir / "none"); }),
            "read_file: there is no such file: " + dir.text("none") +
                ". Check the path, or fetch the data with tools/get_data.sh.");
  EXPECT_EQ(error_of<DataError>([&] { read_file(dir.path()); }),
            "read_file: this is not a regular file: " + dir.path().string() + ". Name a file.");
}

TEST(DataFile, RefusesEveryTruncationOfAGzipFile) {
  const TemporaryFolder dir;
  const Bytes whole = gzip(kHello);
  for (size_t size = 2; size < whole.size(); ++size) {
    const auto path = dir.write("cut.gz", Bytes(whole.begin(), whole.begin() + size));
    const std::string text = error_of<DataError>([&] { read_file(path); });
    EXPECT_TRUE(text.starts_with("read_file: the gzip file is cut short: " + path.string() +
                                 " ends after " + std::to_string(size) +
                                 " bytes, which unpack to "))
        << text;
  }
}

TEST(DataFile, RefusesADamagedGzipFile) {
  const TemporaryFolder dir;
  Bytes crc = gzip(kHello);
  crc[crc.size() - 8] ^= 1;
  EXPECT_EQ(error_of<DataError>([&] { read_file(dir.write("crc.gz", crc)); }),
            "read_file: the gzip file is damaged: " + dir.text("crc.gz") +
                " at byte 21 of 25: incorrect data check. Fetch it again.");
  Bytes length = gzip(kHello);
  length[length.size() - 4] ^= 1;
  EXPECT_EQ(error_of<DataError>([&] { read_file(dir.write("length.gz", length)); }),
            "read_file: the gzip file is damaged: " + dir.text("length.gz") +
                " at byte 25 of 25: incorrect length check. Fetch it again.");
  Bytes garbage = gzip(kHello);
  garbage.insert(garbage.end(), {'x', 'y', 'z'});
  EXPECT_EQ(error_of<DataError>([&] { read_file(dir.write("garbage.gz", garbage)); }),
            "read_file: the gzip file is damaged: " + dir.text("garbage.gz") +
                " at byte 27 of 28: incorrect header check. Fetch it again.");
}

TEST(DataFile, NoByteFlipIsReadAsSomethingElse) {
  const TemporaryFolder dir;
  const Bytes whole = gzip(kHello);
  int refused = 0;  // a few bits mean nothing: the time of packing, the padding after the last code
  for (size_t i = 2; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= 0x10;
    const auto path = dir.write("flipped.gz", flipped);
    try {
      EXPECT_EQ(read_file(path), kHello) << "byte " << i;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 15);  // of 23
}

TEST(DataFile, AGzipFileCannotEatMemory) {
  const TemporaryFolder dir;
  const auto bomb = dir.write("bomb.gz", gzip(Bytes(1 << 20)));
  EXPECT_EQ(read_file(bomb, 1 << 20).size(), size_t{1} << 20);
  EXPECT_EQ(error_of<DataError>([&] { read_file(bomb, (1 << 20) - 1); }),
            "read_file: the gzip file unpacks to more than 1048575 bytes: " + bomb.string() +
                " of " + std::to_string(std::filesystem::file_size(bomb)) +
                " bytes. Use a smaller file.");
  EXPECT_EQ(error_of<DataError>([&] { read_file(dir.write("plain", kHello), 4); }),
            "read_file: the file is too large: " + dir.text("plain") +
                " has 5 bytes, at most 4 are read. Use a smaller file.");
}

TEST(DataFile, ShowsWholeCharactersOfAPiece) {
  const std::string x(38, 'x');
  EXPECT_EQ(shown(x + "é"), x + "é");
  EXPECT_EQ(shown(x + "é!"), x + "é...");
  EXPECT_EQ(shown(x + "日!"), x + "...");
  EXPECT_EQ(shown(x + "!é"), x + "!...");
  EXPECT_EQ(shown(x.substr(1) + "😀é"), x.substr(1) + "...");
  EXPECT_EQ(shown(std::string(100, '\x80')), std::string(37, '\x80') + "...");  // no UTF-8 at all
  EXPECT_EQ(shown("a\n\x7f"), "a??");
}

TEST(DataFile, FindsAFileWithOrWithoutGz) {
  const TemporaryFolder dir;
  dir.write("a.gz", kHello);
  EXPECT_EQ(find_file(dir.path(), "a"), dir / "a.gz");
  dir.write("a", kHello);
  EXPECT_EQ(find_file(dir.path(), "a"), dir / "a");
  EXPECT_EQ(error_of<DataError>([&] { find_file(dir.path(), "b"); }),
            "data: neither b nor b.gz is in the folder: " + dir.path().string() +
                ". Check the path, or fetch the data with tools/get_data.sh.");
  EXPECT_EQ(error_of<DataError>([&] { find_file(dir / "c", "b"); }),
            "data: there is no such folder: " + dir.text("c") +
                ". Check the path, or fetch the data with tools/get_data.sh.");
}

}  // namespace
}  // namespace plimsoll::data
