#include "data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace plimsoll::data {

MappedFile::MappedFile(const char* what, const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check<DataError>(file >= 0, what, ": the file cannot be opened: ", path.string(), " (",
                   std::strerror(errno), "). Check the path and its permissions.");
  struct stat status {};
  const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(regular ? status.st_size : 0);
  // No bytes cannot be mapped, and need not be.
  void* const data = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  const int error = errno;
  ::close(file);  // the mapping stays
  check<DataError>(regular, what, ": this is not a regular file: ", path.string(),
                   ". Name a file.");
  check<DataError>(data != MAP_FAILED, what, ": the file cannot be mapped: ", path.string(), " (",
                   std::strerror(error), "). Check the disk and the memory.");
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::give_back(std::span<const std::byte> part) const noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = (begin + page - 1) / page * page,
                  end = (begin + part.size()) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace plimsoll::data
