// NetPBM pictures, binary and decimal.
#include "data/images/netpbm.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  const data::Bytes content(bytes.begin(), bytes.end());
  return unless_refused([&] { data::parse_netpbm(content, "f"); });
}

std::vector<std::string> seeds() {
  return {"P5 3 2 255\nabcdef", "P6\n# x\n2 1\n255\nabcdef", "P2 2 2 255 0 17 255 3\n",
          "P3 1 1 255 1 2 3"};
}

std::vector<std::string> words() { return {"P5", "P2", "255", " 1048576", "#", "\n"}; }

}  // namespace plimsoll::fuzz
