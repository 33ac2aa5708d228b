// The cache on disk: made once per content, never trusted unseen, and never in the way.
#include "core/cache.h"

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
