// The traces that plan_trace reads.
#include "tests/fuzz/target.h"
#include "tools/trace_file.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { tools::read_trace(in_memory(bytes)); });
}

std::vector<std::string> seeds() {
  return {"op a 0\n",
          "input  w 4096\n"
          "input  x 65536   # what it is\n"
          "op     conv 0.0021 reads w x writes h:65536 workspace 1024\n"
          "alias  v h\n"
          "op     relu 1e-4 reads v writes r:65536 over v\n"
          "op     grad 0.0040 reads r x w writes g:4096 k:0\n"
          "last   r\n"
          "op     sgd  0.0002 reads g changes w\n"
          "result g\n"};
}

std::vector<std::string> words() {
  return {"input ",    "op ",         "alias ", "last ", "result ", " reads ", " writes ",
          " changes ", " workspace ", " over ", "h:",    " h",      " r",      "\n",
          "#",         "nan",         "1e999",  "-0",    "\r"};
}

}  // namespace plimsoll::fuzz
