// An archive as numpy.savez_compressed writes it, which write_npz does not.
//
//   dir.write("x.npz", deflated_npz("x.npy", content));
#pragma once

#include <zlib.h>

#include <string>

namespace plimsoll::formats {

inline std::string deflated_npz(const std::string& name, const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, /*no header:*/ -15, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  const auto number = [](uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
    return text;
  };
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  const std::string fields = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) +
                             number(crc, 4) + number(packed.size(), 4) + number(content.size(), 4) +
                             number(name.size(), 2) + number(0, 2);
  const std::string local = "PK\3\4" + fields + name + packed;
  const std::string central = "PK\1\2" + number(20, 2) + fields + number(0, 14) + name;
  return local + central + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(central.size(), 4) + number(local.size(), 4) + number(0, 2);
}

}  // namespace plimsoll::formats
