// CIFAR-10's records.
#include "data/images/cifar10.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] {
    data::ImageDataset dataset;
    dataset.height = dataset.width = 32;
    dataset.channels = 3;
    dataset.classes = 10;
    data::append_cifar10(data::Bytes(bytes.begin(), bytes.end()), "f", dataset);
  });
}

std::vector<std::string> seeds() {
  const std::string record = '\7' + std::string(data::kCifar10RecordBytes - 1, 'x');
  return {record, record + record};
}

std::vector<std::string> words() { return seeds(); }

}  // namespace plimsoll::fuzz
