// The parts of get_data, on files made here: checksums, transfers that go wrong, archives that lie.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>

#include "examples/get_data_fetch.h"
#include "tests/data_testing.h"

namespace plimsoll::get_data {
namespace {

using data::Bytes;
using data::read_text;
using data::TemporaryFolder;

constexpr const char* kAbcSha256 =  // FIPS 180-4, example of one block
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr RemoteFile kAbc{"abc.txt", 3, kAbcSha256};

std::string address(const TemporaryFolder& dir) { return "file://" + dir.path().string(); }

int64_t files_in(const TemporaryFolder& dir) {
  const std::filesystem::directory_iterator files(dir.path());
  return std::distance(begin(files), end(files));
}

// A gzipped tar of regular files, in the given order.
std::filesystem::path write_archive(const TemporaryFolder& dir,
                                    const std::vector<std::pair<std::string, std::string>>& files) {
  std::filesystem::path path = dir / "archive.tar.gz";
  archive* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_ustar(writer);
  archive_write_open_filename(writer, path.c_str());
  for (const auto& [name, content] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, std::ssize(content));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(writer, entry);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return path;
}

constexpr Member kMembers[] = {{"a.bin", 2}, {"b.bin", 3}};

TEST(GetData, ChecksumsAreThePublishedOnes) {
  const TemporaryFolder dir;
  EXPECT_EQ(sha256_of(dir.write("abc", "abc")), kAbcSha256);
  EXPECT_EQ(sha256_of(dir.write("empty", "")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of(dir.write("million", std::string(1'000'000, 'a'))),  // FIPS 180-2
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(GetData, FetchesAndRecognisesAFile) {
  const TemporaryFolder there, here;
  there.write("abc.txt", "abc");
  EXPECT_FALSE(is_present(kAbc, here.path()));
  fetch(kAbc, address(there), here / "new" / "folder");
  EXPECT_EQ(read_text(here / "new/folder/abc.txt"), "abc");
  EXPECT_TRUE(is_present(kAbc, here / "new/folder"));
  fetch(kAbc, address(there) + "/", here.path());
  EXPECT_EQ(files_in(here), 2);  // abc.txt and new/; no part is left
}

TEST(GetData, ABaseMayBeAPlainFolder) {
  const TemporaryFolder there, here;
  const std::filesystem::path folder = there / "with space, % and #";
  std::filesystem::create_directory(folder);
  there.write("with space, % and #/abc.txt", "abc");
  EXPECT_EQ(address_of(folder), address(there) + "/with%20space%2C%20%25%20and%20%23");
  for (const std::string& base :
       {folder.string(), folder.string() + "/", std::filesystem::relative(folder).string()}) {
    fetch(kAbc, base, here.path());
    EXPECT_TRUE(is_present(kAbc, here.path())) << base;
    std::filesystem::remove(here / "abc.txt");
  }
  EXPECT_EQ(address_of("https://example.org/data"), "https://example.org/data");
  EXPECT_EQ(error_of<DataError>([&] { fetch(kAbc, there.text("none"), here.path()); }),
            "get_data: --base is neither an address nor a folder: " + there.text("none") +
                ". Name one that exists, or begin it with https://.");
  EXPECT_EQ(files_in(here), 0);
}

TEST(GetData, ANameThatIsTakenIsRefused) {
  const TemporaryFolder there, here;
  there.write("abc.txt", "abc");
  std::filesystem::create_directories(here / "abc.txt/inside");
  EXPECT_EQ(error_of<DataError>([&] { fetch(kAbc, address(there), here.path()); }),
            "get_data: the file cannot be given its name: " + here.text("abc.txt") +
                " (Is a directory). Move away what is there, or choose another --out.");
  EXPECT_EQ(files_in(here), 1);  // the folder; no part is left
}

TEST(GetData, AWrongFileIsNotTakenForTheRightOne) {
  const TemporaryFolder there, here;
  there.write("abc.txt", "abc");
  here.write("abc.txt", "abd");
  EXPECT_FALSE(is_present(kAbc, here.path()));
  fetch(kAbc, address(there), here.path());
  EXPECT_EQ(read_text(here / "abc.txt"), "abc");
}

TEST(GetData, ABadTransferLeavesNothingAndChangesNothing) {
  const TemporaryFolder there, here;
  here.write("abc.txt", "old");
  const auto refusal = [&] {
    return error_of<DataError>([&] { fetch(kAbc, address(there), here.path()); });
  };
  const std::string url = address(there) + "/abc.txt";
  EXPECT_TRUE(refusal().starts_with("get_data: the transfer failed: " + url + ": ")) << refusal();
  there.write("abc.txt", "ab");
  EXPECT_EQ(refusal(), "get_data: the file is cut short: " + url +
                           " has 2 of 3 bytes. Try again, or use another --base.");
  there.write("abc.txt", "abcd");
  EXPECT_EQ(refusal(), "get_data: the file is larger than published: " + url +
                           " has more than 3 bytes. Use another --base.");
  there.write("abc.txt", "");
  EXPECT_EQ(refusal(), "get_data: the file is cut short: " + url +
                           " has 0 of 3 bytes. Try again, or use another --base.");
  there.write("abc.txt", "abd");
  EXPECT_EQ(refusal(), "get_data: the checksum is wrong: " + url + " has SHA-256 " +
                           sha256_of(there / "abc.txt") + ", published is " + kAbcSha256 +
                           ". Use another --base.");
  EXPECT_EQ(read_text(here / "abc.txt"), "old");
  EXPECT_EQ(files_in(here), 1);
}

TEST(GetData, AnUnknownProtocolIsRefused) {
  const TemporaryFolder here;
  EXPECT_THROW(fetch(kAbc, "ftp://localhost", here.path()), DataError);
  EXPECT_EQ(files_in(here), 0);
}

TEST(GetData, UnpacksTheMembersOfAnArchive) {
  const TemporaryFolder dir;
  const auto path = write_archive(
      dir, {{"batches/readme.html", "x"}, {"batches/b.bin", "bbb"}, {"../../a.bin", "aa"}});
  unpack(path, kMembers, dir / "out");
  EXPECT_EQ(read_text(dir / "out/a.bin"), "aa");  // inside, whatever the archive says
  EXPECT_EQ(read_text(dir / "out/b.bin"), "bbb");
  const std::filesystem::directory_iterator out(dir / "out");
  EXPECT_EQ(std::distance(begin(out), end(out)), 2);
}

TEST(GetData, ABadArchiveLeavesNothing) {
  const TemporaryFolder dir;
  const auto refusal = [&](const std::filesystem::path& path) {
    return error_of<DataError>([&] { unpack(path, kMembers, dir.path()); });
  };
  const std::string path = dir.text("archive.tar.gz");
  EXPECT_EQ(
      refusal(write_archive(dir, {{"a.bin", "aa"}})),
      "get_data: the archive is not complete: " + path + " has 1 of 2 files. Fetch it again.");
  EXPECT_EQ(refusal(write_archive(dir, {{"b.bin", "bbb"}, {"a.bin", "aaa"}})),
            "get_data: a file of the archive has the wrong size: a.bin in " + path +
                " has 3 bytes, published are 2. Fetch it again.");
  EXPECT_EQ(refusal(write_archive(dir, {{"a.bin", "aa"}, {"x/a.bin", "aa"}})),
            "get_data: the archive has a file twice: a.bin in " + path + ". Fetch it again.");
  const std::string broken = "get_data: the archive cannot be read: " + path + ": ";
  Bytes whole = data::read_file(write_archive(dir, {{"a.bin", "aa"}, {"b.bin", "bbb"}}));
  whole = data::gzip(whole);
  whole.resize(whole.size() / 2);
  dir.write("archive.tar.gz", whole);
  EXPECT_TRUE(refusal(path).starts_with(broken)) << refusal(path);
  dir.write("archive.tar.gz", "not an archive");
  EXPECT_TRUE(refusal(path).starts_with(broken)) << refusal(path);
  EXPECT_EQ(files_in(dir), 1);  // the archive alone
}

}  // namespace
}  // namespace plimsoll::get_data
