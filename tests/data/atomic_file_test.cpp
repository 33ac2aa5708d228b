// AtomicFile: the name stands for the old bytes or for the new ones.
#include "data/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

TEST(DataAtomicFile, IsThereWholeOrNotAtAll) {
  const TemporaryFolder dir;
  write_atomically(dir / "a", "one");
  write_atomically(dir / "a", "two");
  EXPECT_EQ(read_text(dir / "a"), "two");
  EXPECT_THROW(write_atomically(dir / "a", [](const fs::path&) { throw DataError("no"); }),
               DataError);
  EXPECT_EQ(read_text(dir / "a"), "two");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

TEST(DataAtomicFile, FollowsLinks) {
  const TemporaryFolder dir;
  fs::create_directory(dir / "far");
  fs::create_symlink("far/file", dir / "link");
  fs::create_symlink(dir / "link", dir / "again");
  for (const char* text : {"one", "two"}) {  // not there yet, and there
    write_atomically(dir / "again", text);
    EXPECT_EQ(read_text(dir / "far/file"), text);
  }
  EXPECT_TRUE(fs::is_symlink(dir / "again") && fs::is_symlink(dir / "link"));
  EXPECT_EQ(names_in(dir / "far"), std::vector<std::string>{"file"});
  fs::create_symlink("loop", dir / "loop");
  EXPECT_EQ(error_of<DataError>([&] { write_atomically(dir / "loop", "x"); }),
            "write: its links lead nowhere: " + dir.text("loop") + ". Name another file.");
}

TEST(DataAtomicFile, ReplacesNothingButFiles) {
  const TemporaryFolder dir;
  ASSERT_EQ(mkfifo(dir.text("pipe").c_str(), 0600), 0);
  fs::create_directory(dir / "folder");
  fs::create_symlink("pipe", dir / "link");
  const auto refusal = [&](const char* name) {
    return error_of<DataError>([&] { write_atomically(dir / name, "x"); });
  };
  const auto sentence = [&](const char* name) {
    return "write: it is there and no regular file: " + dir.text(name) + ". Name another file.";
  };
  for (const char* name : {"pipe", "folder"}) EXPECT_EQ(refusal(name), sentence(name));
  EXPECT_EQ(refusal("link"), sentence("pipe"));
  EXPECT_EQ(names_in(dir.path()), (std::vector<std::string>{"folder", "link", "pipe"}));
}

// Who is root may open everything: somebody else for the time of the test.
TEST(DataAtomicFile, WhereTheFolderCannotBeOpenedWhatWasThereStays) {
  constexpr uid_t kNobody = 65534;
  const TemporaryFolder dir;
  dir.write("a", std::string("old"));
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chown(dir.path().c_str(), kNobody, getegid()), 0);
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  fs::permissions(dir.path(), fs::perms::owner_write | fs::perms::owner_exec);
  const std::string error = error_of<DataError>([&] { write_atomically(dir / "a", "new"); });
  fs::permissions(dir.path(), fs::perms::owner_all);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(error, "write: it cannot be opened again: " + dir.text("a") +
                       " (Permission denied). Look at its folder and the space on the disk.");
  EXPECT_EQ(read_text(dir / "a"), "old");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace plimsoll::data
