// What takes long to make, kept in a file named after what it is made of: the next run reads it.
//
//   const auto ids = cached_file("cache", {tokenizer, text}, [&] { return encode_all(text); });
//
// The file is found by content, so another text makes another file, and a changed one is never
// answered with the old result. It is checked when it is read: a damaged one is made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace plimsoll {

using CachedBytes = std::vector<uint8_t>;

// make(), or what it gave for the same bytes before. `made_of` is all that the result depends on,
// also the version of `make`: it is hashed to 64 bits, with a CRC-32 and the length beside them.
// The folder is made where it is missing. What `usable`, if any, refuses counts as damaged. A cache
// that cannot be read or written costs time and is no error; what `make` throws comes out. A
// process that is killed may leave a `.part` file, which nothing reads or removes.
CachedBytes cached_file(const std::filesystem::path& folder,
                        std::initializer_list<std::string_view> made_of,
                        const std::function<CachedBytes()>& make,
                        const std::function<bool(const CachedBytes&)>& usable = {});

}  // namespace plimsoll
