// Tokens: a run of token ids of 1, 2 or 4 bytes each, somewhere in memory.
//
//   const std::vector<uint16_t> ids{15496, 11, 995};
//   Batch b = random_windows(ids, {.batch = 1, .context = 2}, key, step);   // (data/text/text.h)
//   Batch c = random_windows(Tokens(ids).part(1, 3), {.batch = 1, .context = 1}, key, step);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::data {

template <class T>
concept TokenId =
    std::same_as<T, uint8_t> || std::same_as<T, uint16_t> || std::same_as<T, uint32_t>;

// Does not own what it looks at.
class Tokens {
 public:
  Tokens() = default;
  template <TokenId T>
  Tokens(std::span<const T> ids)
      : data_(reinterpret_cast<const std::byte*>(ids.data())),
        size_(std::ssize(ids)),
        bytes_each_(sizeof(T)) {}
  template <TokenId T>
  Tokens(const std::vector<T>& ids) : Tokens(std::span<const T>(ids)) {}

  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * bytes_each_; }
  // The ids as they lie in memory.
  std::span<const std::byte> raw() const { return {data_, static_cast<size_t>(bytes())}; }

  // Ids number begin ... end - 1. 0 <= begin <= end <= size().
  Tokens part(int64_t begin, int64_t end) const;

  // Writes n ids from number `begin` on. DataError for one of a file that is not below the file's
  // vocabulary. 0 <= begin, begin + n <= size().
  void copy(int64_t begin, int64_t n, int64_t* out) const;

 private:
  friend class TokenFile;

  const std::byte* data_ = nullptr;
  int64_t size_ = 0, bytes_each_ = 1;
  // Of the file, if they are of one: its first id, vocabulary and name.
  const std::byte* first_ = nullptr;
  int64_t vocabulary_ = INT64_MAX;
  const std::string* file_ = nullptr;
};

}  // namespace plimsoll::data
