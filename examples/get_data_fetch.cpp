#include "examples/get_data_fetch.h"

#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "core/error.h"

namespace plimsoll::get_data {
namespace {

namespace fs = std::filesystem;

template <class T>
using Handle = std::unique_ptr<T, void (*)(T*)>;  // a C library's object and how it is freed

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void update(const void* data, size_t bytes) { EVP_DigestUpdate(context_.get(), data, bytes); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      text.push_back("0123456789abcdef"[digest[i] >> 4]);
      text.push_back("0123456789abcdef"[digest[i] & 15]);
    }
    return text;
  }

 private:
  Handle<EVP_MD_CTX> context_;
};

// A file under construction: `path`.part until commit() gives it its name.
class PartFile {
 public:
  explicit PartFile(const fs::path& path) : path_(path), part_(path.string() + ".part") {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    file_.open(part_, std::ios::binary | std::ios::trunc);
    check<DataError>(file_.is_open(), "get_data: the file cannot be created: ", part_.string(),
                     ": ", std::strerror(errno), ". Choose another --out.");
  }
  ~PartFile() {
    std::error_code error;
    if (!committed_) fs::remove(part_, error);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  void write(const void* data, size_t bytes) {
    file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  }
  // Writes what is still in memory; from here on commit() only renames.
  void close() {
    file_.close();
    check<DataError>(!file_.fail(), "get_data: the file could not be written: ", part_.string(),
                     ". Make room on the disk.");
  }
  void commit() {
    std::error_code error;
    fs::rename(part_, path_, error);
    check<DataError>(!error, "get_data: the file cannot be given its name: ", path_.string(), " (",
                     error.message(), "). Move away what is there, or choose another --out.");
    committed_ = true;
  }

 private:
  fs::path path_, part_;
  std::ofstream file_;
  bool committed_ = false;
};

struct Download {
  PartFile& file;
  Sha256 digest;
  int64_t limit;
  int64_t bytes = 0;
};

// Called by curl with each piece that arrives; taking less than is offered ends the transfer.
size_t receive(const char* data, size_t, size_t bytes, void* user) {
  auto& download = *static_cast<Download*>(user);
  download.bytes += static_cast<int64_t>(bytes);
  if (download.bytes > download.limit) return 0;
  download.digest.update(data, bytes);
  download.file.write(data, bytes);
  return bytes;
}

}  // namespace

std::string sha256_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 digest;
  std::array<char, 1 << 16> buffer;
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0)
    digest.update(buffer.data(), static_cast<size_t>(file.gcount()));
  check<DataError>(file.eof(), "get_data: the file cannot be read: ", path.string(),
                   ". Check its permissions.");
  return digest.hex();
}

bool is_present(const RemoteFile& file, const fs::path& dir) {
  std::error_code error;
  const fs::path path = dir / file.name;
  return fs::is_regular_file(path, error) &&
         fs::file_size(path, error) == static_cast<uintmax_t>(file.bytes) &&
         sha256_of(path) == file.sha256;
}

std::string address_of(const std::string& base) {
  std::error_code error;
  const fs::path folder = fs::absolute(base, error);
  if (!fs::is_directory(folder, error)) {
    check<DataError>(base.find("://") != std::string::npos,
                     "get_data: --base is neither an address nor a folder: ", base,
                     ". Name one that exists, or begin it with https://.");
    return base;
  }
  std::string address = "file://";
  for (const char c : folder.string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::strchr("/-._~", c))
      address.push_back(c);
    else  // RFC 3986, section 2.1
      address += {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
  }
  return address;
}

void fetch(const RemoteFile& file, const std::string& base, const fs::path& dir) {
  const std::string address = address_of(base);
  const std::string url = cat(address, address.ends_with('/') ? "" : "/", file.name);
  PartFile part(dir / file.name);
  Download download{part, {}, file.bytes};
  const Handle<CURL> curl(curl_easy_init(), curl_easy_cleanup);
  check<DataError>(curl != nullptr, "get_data: libcurl could not be started. Free some memory.");
  std::array<char, CURL_ERROR_SIZE> message{};
  const auto set = [&](CURLoption option, auto value) {
    const CURLcode code = curl_easy_setopt(curl.get(), option, value);
    check<DataError>(code == CURLE_OK, "get_data: this libcurl lacks option ", int{option}, ": ",
                     curl_easy_strerror(code), ". Use version 7.85 or newer.");
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https,file");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_CONNECTTIMEOUT, 30L);
  set(CURLOPT_LOW_SPEED_LIMIT, 100L);  // bytes a second,
  set(CURLOPT_LOW_SPEED_TIME, 60L);    // for so many seconds: given up
  set(CURLOPT_ERRORBUFFER, message.data());
  set(CURLOPT_WRITEFUNCTION, receive);
  set(CURLOPT_WRITEDATA, &download);
  const CURLcode code = curl_easy_perform(curl.get());
  check<DataError>(download.bytes <= file.bytes,
                   "get_data: the file is larger than published: ", url, " has more than ",
                   file.bytes, " bytes. Use another --base.");
  check<DataError>(code == CURLE_OK, "get_data: the transfer failed: ", url, ": ",
                   message[0] ? message.data() : curl_easy_strerror(code),
                   ". Check the network, or use another --base.");
  check<DataError>(download.bytes == file.bytes, "get_data: the file is cut short: ", url, " has ",
                   download.bytes, " of ", file.bytes, " bytes. Try again, or use another --base.");
  const std::string sha256 = download.digest.hex();
  check<DataError>(sha256 == file.sha256, "get_data: the checksum is wrong: ", url, " has SHA-256 ",
                   sha256, ", published is ", file.sha256, ". Use another --base.");
  part.close();
  part.commit();
}

void unpack(const fs::path& archive, std::span<const Member> members, const fs::path& dir) {
  const Handle<struct archive> reader(archive_read_new(),
                                      [](struct archive* a) { archive_read_free(a); });
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  const auto check_archive = [&](bool ok) {
    const char* text = ok ? nullptr : archive_error_string(reader.get());
    check<DataError>(ok, "get_data: the archive cannot be read: ", archive.string(), ": ",
                     text ? text : "unknown error", ". Fetch it again.");
  };
  check_archive(archive_read_open_filename(reader.get(), archive.c_str(), 1 << 16) == ARCHIVE_OK);

  std::map<std::string, PartFile> parts;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    const char* path = archive_entry_pathname(entry);
    const std::string name = fs::path(path ? path : "").filename();
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const Member& m) { return name == m.name; });
    if (member == members.end() || archive_entry_filetype(entry) != AE_IFREG) continue;
    const int64_t bytes = archive_entry_size(entry);
    check<DataError>(bytes == member->bytes,
                     "get_data: a file of the archive has the wrong size: ", name, " in ",
                     archive.string(), " has ", bytes, " bytes, published are ", member->bytes,
                     ". Fetch it again.");
    const auto [place, is_new] = parts.try_emplace(name, dir / name);
    check<DataError>(is_new, "get_data: the archive has a file twice: ", name, " in ",
                     archive.string(), ". Fetch it again.");
    PartFile& part = place->second;
    std::array<char, 1 << 16> buffer;
    la_ssize_t got = 0;
    while ((got = archive_read_data(reader.get(), buffer.data(), buffer.size())) > 0)
      part.write(buffer.data(), static_cast<size_t>(got));
    check_archive(got == 0);
    part.close();
  }
  check_archive(status == ARCHIVE_EOF);
  check<DataError>(parts.size() == members.size(),
                   "get_data: the archive is not complete: ", archive.string(), " has ",
                   parts.size(), " of ", members.size(), " files. Fetch it again.");
  for (auto& [name, part] : parts) part.commit();
}

}  // namespace plimsoll::get_data
