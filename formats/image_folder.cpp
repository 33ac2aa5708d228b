#include "formats/image_folder.h"

#include <algorithm>
#include <map>

#include "core/cpu/parallel.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;
using data::ImageDataset;
using data::Picture;

constexpr size_t kTestEvery = 10;  // where no folder says which pictures are to test with
constexpr const char* kPrefix = "folder:";

// What lies in a folder, by name.
std::map<std::string, fs::path> entries_of(const fs::path& dir) {
  std::map<std::string, fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(dir, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (const std::string name = entry->path().filename().string(); !name.starts_with('.'))
      entries[name] = entry->path();
  check<DataError>(!error, "folder: it cannot be listed: ", dir.string(), " (", error.message(),
                   "). Name a folder that may be read.");
  return entries;
}

bool is_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

struct File {
  fs::path path;
  int64_t label;
};

// The files of each class, where `names` are the classes; without any it gets those that are there.
std::vector<std::vector<File>> files_in(const fs::path& dir, std::vector<std::string>& names) {
  const std::map<std::string, fs::path> folders = entries_of(dir);
  const bool anew = names.empty();
  for (const auto& [name, path] : folders) {
    check<DataError>(is_folder(path), "folder: this is no folder of a class: ", path.string(),
                     ". Put each picture into the folder of its class.");
    if (anew) names.push_back(name);
    check<DataError>(std::ranges::count(names, name) > 0,
                     "folder: no such class is trained: ", path.string(),
                     ". Give training pictures of it too.");
  }
  check<DataError>(!names.empty(), "folder: there are no classes: ", dir.string(),
                   " has no folders. Make one for each class.");
  std::vector<std::vector<File>> classes;
  for (const std::string& name : names) {
    std::vector<File>& files = classes.emplace_back();
    if (!folders.contains(name)) continue;  // nothing to test with
    for (const auto& [own, path] : entries_of(folders.at(name))) {
      check<DataError>(!is_folder(path), "folder: this is no picture but a folder: ", path.string(),
                       ". Put pictures straight into the folder of their class, and classes into "
                       "the folders train and test or into neither.");
      files.push_back({path, std::ssize(classes) - 1});
    }
    check<DataError>(!files.empty(),
                     "folder: there are no pictures of a class: ", folders.at(name).string(),
                     " is empty. Add some, or remove it.");
  }
  return classes;
}

// What pictures become. Sizes of 0 are not known yet.
data::PictureSize size_of(const FolderAttrs& attrs) {
  return {attrs.side, attrs.side, attrs.grey ? 1 : 0};
}

// In the order of the files; with their own channels where `size` says none. Without a height and a
// width they get those of the first file.
std::vector<Picture> read_all(const std::vector<File>& files, data::PictureSize& size,
                              const FolderAttrs& attrs) {
  std::vector<Picture> pictures(files.size());
  const auto read = [&](int64_t i) {
    const std::string name = files[static_cast<size_t>(i)].path.string();
    Picture picture = read_picture(name);
    data::PictureSize wanted = size;
    if (size.height == 0) wanted = {picture.height, picture.width, size.channels};
    if (size.channels == 0) wanted.channels = picture.channels;
    const bool same = picture.height == wanted.height && picture.width == wanted.width;
    check<DataError>(same || attrs.side > 0, "folder: pictures are of one size: ", name, " has ",
                     picture.height, " x ", picture.width, " pixels, and the first ", wanted.height,
                     " x ", wanted.width, ". Cut them to one, or say which with --image-size.");
    pictures[static_cast<size_t>(i)] =
        fitted(std::move(picture), name, wanted, {.resize = attrs.side > 0, .grey = attrs.grey});
  };
  if (files.empty()) return pictures;
  read(0);
  size.height = pictures[0].height;
  size.width = pictures[0].width;
  parallel_for(std::ssize(files), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (i > 0) read(i);
  });
  return pictures;
}

// The pictures as bytes one after the other.
ImageDataset dataset_of(std::string name, std::vector<Picture> pictures, data::PictureSize size) {
  ImageDataset set{.name = std::move(name),
                   .height = size.height,
                   .width = size.width,
                   .channels = size.channels,
                   .classes = 1,
                   .normalization = {},
                   .pixels = {},
                   .labels = {}};
  set.pixels.reserve(pictures.size() * static_cast<size_t>(set.image_bytes()));
  for (Picture& picture : pictures) {
    const Picture own = fitted(std::move(picture), set.name, size, {.grey = true});
    set.pixels.insert(set.pixels.end(), own.pixels.begin(), own.pixels.end());
    set.labels.push_back(0);
  }
  return set;
}

ImageDataset labelled(ImageDataset set, const std::vector<File>& files,
                      const std::vector<std::string>& names) {
  for (size_t i = 0; i < files.size(); ++i) set.labels[i] = files[i].label;
  set.classes = std::ssize(names);
  set.class_names = names;
  return set;
}

// Those to train on and those to test with.
std::pair<std::vector<File>, std::vector<File>> files_of(const fs::path& dir,
                                                         std::vector<std::string>& names) {
  std::vector<File> train, test;
  const bool parted = is_folder(dir / "train") && is_folder(dir / "test");
  for (const std::vector<File>& files : files_in(parted ? dir / "train" : dir, names))
    for (size_t i = 0; i < files.size(); ++i)
      (!parted && i % kTestEvery == kTestEvery - 1 ? test : train).push_back(files[i]);
  if (parted)
    for (const std::vector<File>& files : files_in(dir / "test", names))
      test.insert(test.end(), files.begin(), files.end());
  check<DataError>(!test.empty(), "folder: there is nothing to test with: ",
                   parted ? (dir / "test").string() : dir.string(), " has ",
                   parted ? "no pictures" : "no class of 10 pictures, of which the tenth would be",
                   ". Add some, or make the folders train and test.");
  return {train, test};
}

}  // namespace

data::ImageSource load_image_folder(const fs::path& dir, FolderAttrs attrs) {
  check<ValueError>(attrs.side >= 0, "folder: a picture has no such size: ", attrs.side,
                    ". Give 1 or more, or 0.");
  data::check_folder(dir);
  std::vector<std::string> names;
  const auto [train, test] = files_of(dir, names);
  data::PictureSize size = size_of(attrs);
  std::vector<Picture> training = read_all(train, size, attrs),
                       testing = read_all(test, size, attrs);
  if (size.channels == 0) {
    size.channels = 1;
    for (const std::vector<Picture>* pictures : {&training, &testing})
      for (const Picture& picture : *pictures)
        size.channels = std::max(size.channels, picture.channels);
  }
  data::ImageSource images{
      labelled(dataset_of(cat(dir.string(), " train"), std::move(training), size), train, names),
      labelled(dataset_of(cat(dir.string(), " test"), std::move(testing), size), test, names)};
  images.train.normalization = images.test.normalization = normalization_of(images.train);
  return images;
}

data::ImageSource load_images(const std::string& source, FolderAttrs attrs) {
  const std::string prefix = kPrefix;
  if (!source.starts_with(prefix) || source == prefix) return data::load_images(source);
  return load_image_folder(source.substr(prefix.size()), attrs);
}

data::ImageDataset load_images(const std::string& source, data::Split split, FolderAttrs attrs) {
  if (!source.starts_with(kPrefix)) return data::load_images(source, split);
  data::ImageSource images = load_images(source, attrs);
  return split == data::Split::train ? std::move(images.train) : std::move(images.test);
}

data::ImageDataset read_pictures(const std::vector<std::string>& files, data::PictureSize size,
                                 data::FitAttrs fit) {
  std::vector<Picture> pictures;
  pictures.reserve(files.size());
  for (const std::string& file : files)
    pictures.push_back(data::fitted(read_picture(file), file, size, fit));
  return dataset_of("pictures", std::move(pictures), size);
}

}  // namespace plimsoll::formats
