#include "data/images/idx.h"

namespace plimsoll::data {
namespace {

uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

std::string text_of(const std::vector<int64_t>& sizes) {
  std::string text;
  for (int64_t size : sizes) text += cat(text.empty() ? "" : " x ", size);
  return text;
}

ImageDataset load_idx(const char* name, const Normalization& normalization,
                      const std::filesystem::path& dir, Split split) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const auto image_path = find_file(dir, prefix + "-images-idx3-ubyte");
  const auto label_path = find_file(dir, prefix + "-labels-idx1-ubyte");
  IdxArray images = parse_idx(read_file(image_path), 3, image_path.string());
  IdxArray labels = parse_idx(read_file(label_path), 1, label_path.string());
  check<DataError>(images.sizes[0] == labels.sizes[0],
                   "idx: images and labels do not match: ", image_path.string(), " has ",
                   images.sizes[0], " images, ", label_path.string(), " has ", labels.sizes[0],
                   " labels. Use two files of one dataset.");
  ImageDataset dataset{.name = cat(name, " ", name_of(split)),
                       .height = images.sizes[1],
                       .width = images.sizes[2],
                       .channels = 1,
                       .classes = 10,
                       .normalization = normalization,
                       .pixels = std::move(images.values),
                       .labels = {labels.values.begin(), labels.values.end()}};
  check_dataset(dataset);
  return dataset;
}

}  // namespace

IdxArray parse_idx(Bytes bytes, int axes, const std::string& name) {
  const int64_t header = 4 + 4 * int64_t{axes};
  const auto size = static_cast<int64_t>(bytes.size());
  check<DataError>(size >= header, "idx: the file is shorter than its header: ", name, " has ",
                   size, " of ", header, " bytes. Fetch it again.");
  check<DataError>(bytes[0] == 0 && bytes[1] == 0, "idx: this is not an idx file: ", name,
                   " begins with bytes ", int{bytes[0]}, " ", int{bytes[1]},
                   " where 0 0 belong. Name an idx file.");
  check<DataError>(bytes[2] == 8, "idx: only unsigned bytes are read: ", name, " has type ",
                   int{bytes[2]}, ", unsigned byte is 8. Convert the file.");
  check<DataError>(bytes[3] == axes, "idx: the number of axes is wrong: ", name, " has ",
                   int{bytes[3]}, " axes, needed are ", axes,
                   ". Check that images and labels are not swapped.");

  IdxArray array;
  int64_t claimed = 1;
  bool overflow = false;
  for (int axis = 0; axis < axes; ++axis) {
    array.sizes.push_back(big_endian(&bytes[4 + 4 * axis]));
    overflow |= __builtin_mul_overflow(claimed, array.sizes.back(), &claimed);
  }
  check<DataError>(!overflow, "idx: the sizes in the header overflow: ", name, " claims ",
                   text_of(array.sizes), " bytes. Fetch it again.");
  check<DataError>(claimed == size - header, "idx: header and content do not match: ", name,
                   " claims ", text_of(array.sizes), " = ", claimed, " bytes and holds ",
                   size - header, ". Fetch it again.");
  bytes.erase(bytes.begin(), bytes.begin() + header);
  array.values = std::move(bytes);
  return array;
}

ImageDataset load_mnist(const std::filesystem::path& dir, Split split) {
  return load_idx("mnist", kMnistNormalization, dir, split);
}

ImageDataset load_fashion_mnist(const std::filesystem::path& dir, Split split) {
  return load_idx("fashion-mnist", kFashionNormalization, dir, split);
}

}  // namespace plimsoll::data
