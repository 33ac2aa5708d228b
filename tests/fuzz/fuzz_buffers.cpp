// The CSV files that place_offsets reads.
#include "tests/fuzz/target.h"
#include "tools/buffers_csv.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { tools::boxes_of(tools::read_buffers(in_memory(bytes))); });
}

std::vector<std::string> seeds() {
  return {"id,lower,upper,size\n", "id,lower,upper,size\na,0,3,16\nb,1,2,0\nc,-5,9,4096\n",
          "\xEF\xBB\xBFsize, upper ,lower,id\r\n\r\n7,2,1,x\r\n8,3,1,y"};
}

std::vector<std::string> words() {
  return {"id",
          "lower",
          "upper",
          "size",
          ",",
          "\n",
          "\r",
          " ",
          "\xEF\xBB\xBF",
          "+1",
          "0x1",
          "9223372036854775807",
          "-9223372036854775808"};
}

}  // namespace plimsoll::fuzz
