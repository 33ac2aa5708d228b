// Pictures of one's own as a data set: a folder with one folder for each class.
//
//   pictures/train/cat/one.png, pictures/train/dog/two.jpg, ...     to train on
//   pictures/test/cat/three.png, ...                                to test with
//
//   const data::ImageSource images = formats::load_image_folder("pictures");
//   images.train.class_names;                          // {"cat", "dog"}
//   const data::ImageSource named = formats::load_images("folder:pictures");   // or "builtin", ...
#pragma once

#include "data/source.h"
#include "formats/picture_file.h"

namespace plimsoll::formats {

struct FolderAttrs {
  int64_t side = 0;  // pixels: pictures are stretched to so many a side; 0: all have one size
  bool grey =
      false;  // colours become grey; false: with one picture in colours all have three parts
};

// The classes are the folders in DIR/train, in the order of their names' bytes; DIR/test has some
// of them. Where DIR has not both, the classes lie in it, and every tenth picture of each (the
// 10th, the 20th, ..., by name) is to test with. In the folder of a class all files are pictures,
// as read_picture() takes them; names that begin with a dot are not looked at. Normalization is
// that of the pictures to train on. DataError, naming a file or a folder: what is no picture, a
// picture of another size than the first, unless attrs.side says what becomes of it, a class
// without pictures, a class of the test that is none of training, and no pictures to test with.
data::ImageSource load_image_folder(const std::filesystem::path& dir, FolderAttrs attrs = {});

// What data::kImageSources names. Errors: as data::load_images() and load_image_folder().
data::ImageSource load_images(const std::string& source, FolderAttrs attrs = {});
data::ImageDataset load_images(const std::string& source, data::Split split,
                               FolderAttrs attrs = {});

// Pictures to ask a net about, in this order, as one class with labels 0, which mean nothing: for
// train::Classifier. DataError: as read_picture() and data::fitted().
data::ImageDataset read_pictures(const std::vector<std::string>& files, data::PictureSize size,
                                 data::FitAttrs fit = {});

}  // namespace plimsoll::formats
