// The cache on disk: made once per content, never trusted unseen, and never in the way.
#include "core/cache.h"

#include <atomic>

#include "data/pipeline.h"
#include "tests/data_testing.h"

namespace plimsoll::data {
namespace {

const Bytes kBytes{1, 2, 3, 255, 0};

std::filesystem::path only_file(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  EXPECT_EQ(files.size(), size_t{1});
  return files.at(0);
}

TEST(Cache, IsMadeOncePerContent) {
  const TemporaryFolder dir;
  int made = 0;
  const auto get = [&](std::initializer_list<std::string_view> made_of) {
    return cached_file(dir / "a/b", made_of, [&] { return ++made, kBytes; });
  };
  for (int again = 0; again < 3; ++again) EXPECT_EQ(get({"v1", "text"}), kBytes);
  EXPECT_EQ(made, 1);
  for (const auto& other : {std::initializer_list<std::string_view>{"v1", "texu"},
                            {"v1t", "ext"},
                            {"v1text"},
                            {"v1", "text", ""},
                            {}})
    get(other);
  EXPECT_EQ(made, 6);
  EXPECT_EQ(cached_file(dir / "empty", {"x"}, [] { return Bytes(); }), Bytes());
  EXPECT_EQ(cached_file(dir / "empty", {"x"}, [] { return kBytes; }), Bytes());
}

TEST(Cache, ADamagedFileIsMadeAgain) {
  const TemporaryFolder dir;
  int made = 0;
  const auto get = [&] { return cached_file(dir.path(), {"x"}, [&] { return ++made, kBytes; }); };
  get();
  const std::filesystem::path path = only_file(dir.path());
  const Bytes good = read_file(path);
  ASSERT_EQ(good.size(), 40 + kBytes.size());
  const std::string name = path.filename();
  int damages = 0;
  for (size_t place = 0; place < good.size(); ++place, ++damages) {
    Bytes bad = good;
    bad[place] ^= 16;
    dir.write(name, bad);
    EXPECT_EQ(get(), kBytes) << place;
    EXPECT_EQ(read_file(path), good);
  }
  for (size_t size = 0; size < good.size(); ++size, ++damages) {
    dir.write(name, Bytes(good.begin(), good.begin() + size));
    EXPECT_EQ(get(), kBytes) << size;
  }
  Bytes longer = good;
  longer.push_back(0);
  dir.write(name, longer);
  get();
  EXPECT_EQ(made, damages + 2);
  EXPECT_EQ(only_file(dir.path()), path);
}

// As docs/data.md shows it: each image is decoded once for all epochs of all runs.
TEST(Cache, InAPipelineBeforeAugmentation) {
  const TemporaryFolder dir;
  std::atomic<int> decoded = 0;
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < 7; ++i) files.push_back(dir.write(cat("image", i), Bytes{uint8_t(i)}));
  const auto decode = [&](const std::filesystem::path& file) {
    ++decoded;
    return Bytes{static_cast<uint8_t>(read_file(file).at(0) + 100)};
  };
  for (int run = 0; run < 2; ++run) {
    const auto image = cached<Bytes>(7, [&](int64_t i) {
      return cached_file(dir / "cache", {"1", read_text(files[i])},
                         [&] { return decode(files[i]); });
    });
    for (int epoch = 0; epoch < 3; ++epoch) {
      const auto augmented = [&](int64_t i) { return image(i)->at(0) + epoch; };
      const Stream<int> images = mapped(numbers(0, 7), augmented, {.workers = 2, .ahead = 4});
      for (int i = 0; i < 7; ++i) EXPECT_EQ(images(), 100 + i + epoch);
      EXPECT_EQ(images(), std::nullopt);
    }
    EXPECT_EQ(decoded, 7) << run;
  }
}

TEST(Cache, WhatIsOfNoUseIsMadeAgain) {
  const TemporaryFolder dir;
  const auto get = [&](const Bytes& make) {
    return cached_file(
        dir.path(), {"x"}, [&] { return make; }, [](const Bytes& b) { return b.size() < 3; });
  };
  EXPECT_EQ(get({1, 2, 3}), (Bytes{1, 2, 3}));  // what is made is taken as it is
  EXPECT_EQ(get({4, 5}), (Bytes{4, 5}));
  EXPECT_EQ(get({6}), (Bytes{4, 5}));
}

TEST(Cache, IsNeverInTheWay) {
  const TemporaryFolder dir;
  dir.write("file", kBytes);
  EXPECT_EQ(cached_file(dir / "file", {"x"}, [] { return kBytes; }), kBytes);  // is no folder
  const auto broken = []() -> Bytes { fail<DataError>("broken."); };
  EXPECT_EQ(error_of<DataError>([&] { cached_file(dir / "c", {"x"}, broken); }), "broken.");
  EXPECT_FALSE(std::filesystem::exists(dir / "c"));
}

}  // namespace
}  // namespace plimsoll::data
