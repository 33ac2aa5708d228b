// Tokens: windows of ids of every width, files of them, nanoGPT's raw ones, and what is refused.
#include "data/text/token_file.h"

#include <sys/resource.h>

#include <csignal>

#include "data/random.h"
#include "data/source.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

std::vector<int64_t> ids_of(const Tokens& tokens) {
  std::vector<int64_t> ids(static_cast<size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

std::vector<int32_t> numbered(int32_t n, int32_t first = 0) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < n; ++i) ids.push_back(first + i);
  return ids;
}

std::filesystem::path write(const std::filesystem::path& path, int64_t vocabulary,
                            const std::vector<int32_t>& ids) {
  TokenWriter writer(path, vocabulary);
  const auto half = ids.begin() + std::ssize(ids) / 2;
  writer.append(std::vector(ids.begin(), half));
  writer.append(std::vector(half, ids.end()));
  writer.finish();
  return path;
}

TEST(DataTokens, AnyWidthGivesTheSameWindows) {
  const std::vector<uint8_t> narrow{3, 1, 4, 1, 5, 9, 2, 6, 250};
  const std::vector<uint16_t> middle(narrow.begin(), narrow.end());
  const std::vector<uint32_t> wide(narrow.begin(), narrow.end());
  EXPECT_EQ(ids_of(narrow), (std::vector<int64_t>{3, 1, 4, 1, 5, 9, 2, 6, 250}));
  EXPECT_EQ(ids_of(middle), ids_of(narrow));
  EXPECT_EQ(ids_of(wide), ids_of(narrow));
  EXPECT_EQ(ids_of(Tokens(middle).part(2, 5)), (std::vector<int64_t>{4, 1, 5}));
  EXPECT_EQ(ids_of(std::vector<uint32_t>{4'000'000'000}), (std::vector<int64_t>{4'000'000'000}));
  const WindowAttrs attrs{.batch = 3, .context = 4};
  for (uint64_t step = 0; step < 20; ++step) {
    const Batch batch = random_windows(narrow, attrs, 1, step);
    EXPECT_EQ(random_windows(wide, attrs, 1, step).x.to_vector<int64_t>(),
              batch.x.to_vector<int64_t>());
    EXPECT_EQ(random_windows(middle, attrs, 1, step).y.to_vector<int64_t>(),
              batch.y.to_vector<int64_t>());
  }
}

TEST(DataTokens, AFileGivesBackWhatWasWritten) {
  const TemporaryFolder dir;
  for (const int32_t vocabulary : {1, 300, 65536, 65537, 1 << 20}) {
    const auto ids = numbered(std::min(vocabulary, 1000), std::max(vocabulary - 1000, 0));
    const TokenFile file(write(dir / "t", vocabulary, ids));
    EXPECT_EQ(file.vocabulary(), vocabulary);
    EXPECT_EQ(ids_of(file.tokens()), std::vector<int64_t>(ids.begin(), ids.end()));
    EXPECT_EQ(std::filesystem::file_size(dir / "t"),
              32 + ids.size() * (vocabulary > 65536 ? 4 : 2));
  }
  EXPECT_EQ(TokenFile(write(dir / "t", 5, {})).tokens().size(), 0);
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"t"});
}

TEST(DataTokens, TwoWritersOfOneFileDoNotMeet) {
  const TemporaryFolder dir;
  TokenWriter first(dir / "t", 9), second(dir / "t", 9);
  first.append(numbered(3));
  second.append(numbered(5));
  first.finish();
  EXPECT_EQ(ids_of(TokenFile(dir / "t").tokens()), (std::vector<int64_t>{0, 1, 2}));
  second.append(numbered(1));
  second.finish();
  EXPECT_EQ(ids_of(TokenFile(dir / "t").tokens()), (std::vector<int64_t>{0, 1, 2, 3, 4, 0}));
}

TEST(DataTokens, TheBytesAreThoseOfTheHeader) {
  const TemporaryFolder dir;
  Bytes bytes = read_file(write(dir / "t", 50257, {15496, 11, 995}));
  const uint32_t crc = static_cast<uint32_t>(crc32(0, bytes.data(), 24));
  const Bytes expected{'p',
                       'l',
                       'i',
                       'm',
                       't',
                       'o',
                       'k',
                       '1',
                       2,
                       0,
                       0,
                       0,
                       0x51,
                       0xC4,
                       0,
                       0,
                       3,
                       0,
                       0,
                       0,
                       0,
                       0,
                       0,
                       0,
                       static_cast<uint8_t>(crc),
                       static_cast<uint8_t>(crc >> 8),
                       static_cast<uint8_t>(crc >> 16),
                       static_cast<uint8_t>(crc >> 24),
                       0,
                       0,
                       0,
                       0,
                       0x88,
                       0x3C,
                       11,
                       0,
                       0xE3,
                       0x03};
  EXPECT_EQ(bytes, expected);
}

TEST(DataTokens, RawIdsAreThoseOfNanoGpt) {
  const TemporaryFolder dir;
  const TokenFile file(dir.write("train.bin", Bytes{0x88, 0x3C, 11, 0, 0xE3, 0x03}));
  EXPECT_EQ(ids_of(file.tokens()), (std::vector<int64_t>{15496, 11, 995}));
  EXPECT_EQ(file.vocabulary(), 15497);
}

TEST(DataTokens, AreASourceOfText) {
  const TemporaryFolder dir;
  write(dir / "t", 40, numbered(25));
  const TokenSource source = load_tokens("tokens:" + dir.text("t"));
  EXPECT_EQ(source.vocabulary, 40);
  EXPECT_EQ(source.train.size(), 22);
  EXPECT_EQ(ids_of(source.validation), (std::vector<int64_t>{22, 23, 24}));
  dir.write("text", std::string("abcabcabcabc"));
  const TokenSource text = load_tokens("text:" + dir.text("text"));
  EXPECT_EQ(text.vocabulary, 3);
  EXPECT_EQ(ids_of(text.validation), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(text.train.size(), 10);
  for (const char* bad : {"", "tokens:", "mnist:x"})
    EXPECT_EQ(
        error_of<UsageError>([&] { load_tokens(bad); }),
        cat("data: this names no text: \"", bad, "\". Use builtin | text:FILE | tokens:FILE."));
}

TEST(DataTokens, RefusesDamagedFiles) {
  const TemporaryFolder dir;
  const Bytes good = read_file(write(dir / "good", 300, numbered(10)));
  const std::string name = dir.text("bad");
  const auto refusal = [&](Bytes bytes, bool mend) {
    if (mend) {
      const auto crc = static_cast<uint32_t>(crc32(0, bytes.data(), 24));
      std::memcpy(&bytes[24], &crc, 4);
    }
    dir.write("bad", bytes);
    return error_of<DataError>([&] { TokenFile{name}; });
  };
  const auto with = [&](size_t place, uint8_t value) {
    Bytes bytes = good;
    bytes[place] = value;
    return bytes;
  };
  for (size_t place = 8; place < 32; ++place)
    EXPECT_EQ(refusal(with(place, 0xA5), false),
              cat("tokens: the header is damaged: ", name, ". Write it again."));
  EXPECT_EQ(refusal(with(8, 3), true),
            cat("tokens: ids have 2 or 4 bytes: ", name, " says 3. Write it again."));
  EXPECT_EQ(refusal(with(15, 0x90), true), cat("tokens: a vocabulary has 1 to 2^31 tokens: ", name,
                                               " says 2415919404. Write it again."));
  EXPECT_EQ(refusal(with(16, 11), true),
            cat("tokens: the file is cut short or too long: ", name,
                " claims 11 ids of 2 bytes and has 20 bytes of them. Write it again."));
  for (const size_t size : {size_t{33}, size_t{50}})
    EXPECT_EQ(
        refusal(Bytes(good.begin(), good.begin() + size), false),
        cat("tokens: the file is cut short or too long: ", name,
            " claims 10 ids of 2 bytes and has ", size - 32, " bytes of them. Write it again."));
  for (const size_t size : {0, 31})
    EXPECT_EQ(refusal(Bytes(size), false),
              cat("tokens: neither a file of tokens nor raw ids of 16 bits: ", name, " has ", size,
                  " bytes. Write one with tokenize."));
  // An id beyond the vocabulary is found when it is used.
  dir.write("bad", with(39, 2));
  const TokenFile file(name);
  EXPECT_EQ(ids_of(file.tokens().part(4, 10)), (std::vector<int64_t>{4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(error_of<DataError>([&] { ids_of(file.tokens().part(2, 10)); }),
            cat("tokens: an id is not in the vocabulary: ", name,
                " has 515 at position 3 where ids are below 300. Write it again."));
  EXPECT_THROW(TokenFile{dir / "none"}, DataError);
  EXPECT_THROW(TokenFile{dir.path()}, DataError);
}

TEST(DataTokens, WhatIsNotFinishedIsNotThere) {
  const TemporaryFolder dir;
  write(dir / "t", 9, {1, 2, 3});
  {
    TokenWriter writer(dir / "t", 9);
    writer.append(numbered(9));
    EXPECT_EQ(error_of<IndexError>([&] { writer.append(numbered(10)); }),
              "tokens: an id is not in the vocabulary: 9 of 9. "
              "Pass the vocabulary of the tokenizer.");
  }
  EXPECT_EQ(ids_of(TokenFile(dir / "t").tokens()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"t"});
  EXPECT_THROW(TokenWriter(dir / "no" / "t", 9), DataError);
  EXPECT_THROW(TokenWriter(dir / "t", 0), ValueError);
  std::filesystem::create_directory(dir / "folder");
  EXPECT_THROW(TokenWriter(dir / "folder", 9), DataError);
}

// No file may grow beyond a limit, as on a full disk.
TEST(DataTokens, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder dir;
  write(dir / "t", 9, {1, 2, 3});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(
      error_of<DataError>([&] { write(dir / "t", 1000, numbered(1000)); }),
      cat("tokens: the file could not be written: ", dir.text("t"), ". Make room on the disk."));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(ids_of(TokenFile(dir / "t").tokens()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"t"});
}

}  // namespace
}  // namespace plimsoll::data
