#include "examples/common/report.h"

namespace plimsoll::examples {

ReportFile::ReportFile(const std::string& path) {
  if (!path.empty()) file_.emplace("--json", path);
}

void ReportFile::write(const Json& json) const {
  if (file_) file_->write(json.dump(2) + '\n');
}

}  // namespace plimsoll::examples
