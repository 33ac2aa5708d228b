// .npy
#include "formats/npy.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {
namespace {

std::string npy(const std::string& header, const std::string& data, bool second = false) {
  std::string bytes("\x93NUMPY", 6);
  bytes += {static_cast<char>(second ? 2 : 1), '\0', static_cast<char>(header.size()), '\0'};
  if (second) bytes += std::string(2, '\0');
  return bytes + header + data;
}

}  // namespace

bool reads(std::string_view bytes) {
  return unless_refused([&] { formats::parse_npy(std::as_bytes(std::span(bytes)), "f"); });
}

std::vector<std::string> seeds() {
  const std::string eight = "01234567";
  return {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }   \n", eight),
          npy("{'descr': '<f2', 'fortran_order': True, 'shape': (2, 2), }\n", eight),
          npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", std::string(3, '\1')),
          npy("{'shape': (), \"descr\": '<i8', 'fortran_order': True}", eight, true),
          npy("{'descr': '|u1', 'fortran_order': False, 'shape': (8, 0, 99)}", "")};
}

std::vector<std::string> words() {
  return {"'descr': '<f8', ",
          "'fortran_order': True, ",
          "'shape': (1, ), ",
          "(",
          ")",
          "{",
          "}",
          ",",
          "'",
          "\"",
          ":",
          "True",
          ">f4",
          "|O",
          "4294967296, ",
          "-1"};
}

}  // namespace plimsoll::fuzz
