#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
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

// The content of the entry the archive stands at. It grows with what comes out, whatever the
// archive claims.
std::vector<std::byte> unpacked(archive* zip, int64_t limit, const std::string& path) {
  constexpr size_t kFirst = 1 << 16;
  std::vector<std::byte> bytes;
  size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(std::max(kFirst, 2 * filled));
    const la_ssize_t n = archive_read_data(zip, bytes.data() + filled, bytes.size() - filled);
    check<DataError>(n >= 0, "npz: the archive is damaged: ", path, " (", reason(zip),
                     "). Fetch it again.");
    if (n == 0) break;
    filled += static_cast<size_t>(n);
    check<DataError>(filled <= static_cast<size_t>(limit), "npz: the arrays unpack to more than ",
                     "the limit: ", path, ". Write several files.");
  }
  bytes.resize(filled);
  return bytes;
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
  const Input zip(archive_read_new());
  archive_read_support_format_zip(zip.get());
  check<DataError>(archive_read_open_memory(zip.get(), mapped.bytes().data(),
                                            mapped.bytes().size()) == ARCHIVE_OK,
                   "npz: this is not a zip archive: ", path, " (", reason(zip.get()),
                   "). Write it with numpy.savez.");
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
    const std::vector<std::byte> bytes = unpacked(zip.get(), limit, path);
    limit -= static_cast<int64_t>(bytes.size());
    const Tensor tensor = parse_npy(bytes, cat(path, ", array ", names.size()));
    name.resize(name.size() - kSuffix.size());
    tensors.push_back({std::move(name), tensor});
  }
  return tensors;
}

}  // namespace plimsoll::formats
