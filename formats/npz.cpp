#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <algorithm>
#include <optional>
#include <set>

#include "data/mapped_file.h"
#include "formats/npy_header.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kSuffix = ".npy";

template <auto free>
struct Free {
  void operator()(auto* it) const { free(it); }
};
using Input = std::unique_ptr<archive, Free<archive_read_free>>;
using Output = std::unique_ptr<archive, Free<archive_write_free>>;
using Entry = std::unique_ptr<archive_entry, Free<archive_entry_free>>;

std::string reason(archive* zip) {
  const char* text = archive_error_string(zip);
  return text ? text : "no reason given";
}

// libarchive gives names in the encoding of the thread's locale, and refuses those that it lacks:
// in "C" all that is not ASCII. Names in an archive are UTF-8.
class Utf8Names {
 public:
  Utf8Names() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_) before_ = uselocale(utf8_);
  }
  ~Utf8Names() {
    if (!utf8_) return;
    uselocale(before_);
    freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  const locale_t utf8_;  // null where the system has none
  locale_t before_ = nullptr;
};

// The content of the entry the archive stands at; nothing when it is more than `most` bytes. It
// grows with what comes out, whatever the archive claims, and never beyond what shows that.
std::optional<std::vector<std::byte>> unpacked(archive* zip, size_t most, const std::string& path) {
  constexpr size_t kFirst = 48 * 1024;
  std::vector<std::byte> bytes;
  for (size_t filled = 0;;) {
    if (filled == bytes.size()) {
      const size_t next = std::min(std::max(kFirst, 2 * filled), most + 1);
      bytes.reserve(next);  // resize() alone would double
      bytes.resize(next);
    }
    const la_ssize_t n = archive_read_data(zip, bytes.data() + filled, bytes.size() - filled);
    check<DataError>(n >= 0, "npz: the archive is damaged: ", path, " (", reason(zip),
                     "). Fetch it again.");
    filled += static_cast<size_t>(n);
    if (filled > most) return std::nullopt;
    if (n > 0) continue;
    bytes.resize(filled);
    return bytes;
  }
}

void check_names(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& item : tensors) {
    const bool plain = !item.name.empty() &&
                       std::ranges::all_of(item.name, [](char c) { return c >= ' ' && c <= '~'; });
    check<ValueError>(plain && names.insert(item.name).second, "npz: the name number ",
                      names.size() + 1,
                      " is empty, there already, or not printable ASCII. Choose another.");
    require_bytes("npz", item.tensor);  // before the file is touched
    npy_header(item.tensor);            // so is this: it refuses types
  }
}

}  // namespace

void write_npz(const std::filesystem::path& file, std::span<const NamedTensor> tensors) {
  check_names(tensors);
  const Output zip(archive_write_new());
  const auto require = [&](bool ok) {
    check<DataError>(ok, "npz: writing failed: ", file.string(), " (", reason(zip.get()),
                     "). Look at its folder and the space on the disk.");
  };
  require(archive_write_set_format_zip(zip.get()) == ARCHIVE_OK &&
          archive_write_zip_set_compression_store(zip.get()) == ARCHIVE_OK &&
          archive_write_set_bytes_in_last_block(zip.get(), 1) == ARCHIVE_OK &&
          archive_write_open_filename(zip.get(), file.c_str()) == ARCHIVE_OK);
  std::vector<std::byte> space;
  for (const NamedTensor& item : tensors) {
    const std::string header = npy_header(item.tensor);
    const std::span<const std::byte> elements = bytes_of("npz", item.tensor, space);
    const Entry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), (item.name + std::string(kSuffix)).c_str());
    archive_entry_set_size(entry.get(), static_cast<int64_t>(header.size() + elements.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    require(archive_write_header(zip.get(), entry.get()) == ARCHIVE_OK);
    for (const auto& part : {std::as_bytes(std::span(header)), elements})
      require(archive_write_data(zip.get(), part.data(), part.size()) ==
              static_cast<la_ssize_t>(part.size()));
  }
  require(archive_write_close(zip.get()) == ARCHIVE_OK);
}

std::vector<NamedTensor> read_npz(const std::filesystem::path& file, int64_t limit) {
  const std::string path = file.string();
  const data::MappedFile mapped("npz", file);
  const Utf8Names utf8;
  const Input zip(archive_read_new());
  archive_read_support_format_zip(zip.get());
  check<DataError>(archive_read_open_memory(zip.get(), mapped.bytes().data(),
                                            mapped.bytes().size()) == ARCHIVE_OK,
                   "npz: this is not a zip archive: ", path, " (", reason(zip.get()),
                   "). Write it with numpy.savez.");
  size_t left = static_cast<size_t>(std::max<int64_t>(limit, 0));
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  for (archive_entry* entry = nullptr;;) {
    const int status = archive_read_next_header(zip.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    check<DataError>(status == ARCHIVE_OK, "npz: the archive is damaged: ", path, " (",
                     reason(zip.get()), "). Fetch it again.");
    const char* const text = archive_entry_pathname(entry);
    std::string name = text ? text : "";
    check<DataError>(name.ends_with(kSuffix) && names.insert(name).second,
                     "npz: an entry is no .npy file, or there twice: number ", names.size() + 1,
                     " of ", path, ". Write it with numpy.savez.");
    const auto bytes = unpacked(zip.get(), left, path);
    check<DataError>(bytes.has_value(), "npz: the arrays of ", path, " unpack to more than ", limit,
                     " bytes. Write several files, or pass a higher limit.");
    left -= bytes->size();
    const Tensor tensor = parse_npy(*bytes, cat(path, ", array ", names.size()));
    name.resize(name.size() - kSuffix.size());
    tensors.push_back({std::move(name), tensor});
  }
  return tensors;
}

}  // namespace plimsoll::formats
