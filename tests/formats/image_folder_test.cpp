// Folders of pictures as data sets.
#include "formats/image_folder.h"

#include "data/images/idx.h"
#include "tests/data/testing.h"
#include "tests/support/jpeg_of.h"

namespace plimsoll::formats {
namespace {

using data::Picture;
using data::TemporaryFolder;
namespace fs = std::filesystem;

Picture plain(uint8_t value, int64_t height = 2, int64_t width = 3, int64_t channels = 1) {
  return {height, width, channels,
          std::vector<uint8_t>(static_cast<size_t>(height * width * channels), value)};
}

void write(const TemporaryFolder& dir, const std::string& name, const Picture& picture) {
  fs::create_directories((dir / name).parent_path());
  dir.write(name, name.ends_with(".jpg") ? jpeg_of(picture) : png_of(picture));
}

std::string refused(const TemporaryFolder& dir, FolderAttrs attrs = {}) {
  return error_of<DataError>([&] { load_image_folder(dir.path(), attrs); });
}

TEST(ImageFolder, HasAClassForEachFolderOfTrain) {
  const TemporaryFolder dir;
  write(dir, "train/dog/a.png", plain(10));
  write(dir, "train/cat/b.png", plain(30));
  write(dir, "train/cat/a.jpg", plain(20));
  write(dir, "test/dog/z.png", plain(40));
  dir.write("train/cat/.hidden", std::string("no picture"));
  dir.write("train/dog/c.pgm", std::string("P5 3 2 255 xxxxxx"));
  const data::ImageSource images = load_images("folder:" + dir.path().string());
  EXPECT_EQ(images.train.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(images.train.labels, (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(images.test.labels, std::vector<int64_t>{1});
  EXPECT_EQ(images.test.class_names, images.train.class_names);
  EXPECT_EQ(std::tuple(images.train.height, images.train.width, images.train.channels),
            std::tuple(2, 3, 1));
  EXPECT_EQ(std::tuple(images.train.pixels[0], images.train.pixels[6], images.train.pixels[12],
                       images.train.pixels[18], images.test.pixels[5]),
            std::tuple(20, 30, 10, 'x', 40));
  EXPECT_EQ(images.test.name, dir.path().string() + " test");
  const double mean = (20 + 30 + 10 + 'x') / 4.0;
  EXPECT_NEAR(images.train.normalization.mean[0], mean / 255, 1e-6);
  EXPECT_EQ(images.test.normalization, images.train.normalization);
  EXPECT_EQ(formats::load_images("folder:" + dir.path().string(), data::Split::test).pixels,
            images.test.pixels);
  EXPECT_EQ(load_images("builtin").test.name, "builtin test");
}

TEST(ImageFolder, TakesEveryTenthToTestWithWhereNoFolderSaysWhich) {
  const TemporaryFolder dir;
  for (int i = 10; i < 31; ++i) write(dir, cat("a/", i, ".png"), plain(static_cast<uint8_t>(i)));
  write(dir, "b/1.png", plain(99));
  const data::ImageSource images = load_image_folder(dir.path());
  EXPECT_EQ(images.train.count(), 20);
  EXPECT_EQ(images.train.labels.back(), 1);
  ASSERT_EQ(images.test.count(), 2);
  EXPECT_EQ(images.test.pixels[0], 19);
  EXPECT_EQ(images.test.pixels[6], 29);
}

TEST(ImageFolder, OnePictureInColoursGivesAllThreeParts) {
  const TemporaryFolder dir;
  write(dir, "train/a/1.png", plain(10));
  Picture colour = plain(0, 2, 3, 3);
  colour.pixels[0] = 200;
  write(dir, "train/a/2.png", colour);
  write(dir, "test/a/1.png", plain(7));
  const data::ImageSource images = load_image_folder(dir.path());
  EXPECT_EQ(images.train.channels, 3);
  EXPECT_EQ(images.test.pixels, std::vector<uint8_t>(18, 7));
  EXPECT_NEAR(images.train.normalization.mean[0], (6 * 10 + 200) / 12.0 / 255, 1e-6);
  EXPECT_NEAR(images.train.normalization.mean[2], 5.0 / 255, 1e-6);
  EXPECT_EQ(load_image_folder(dir.path(), {.grey = true}).train.channels, 1);
}

TEST(ImageFolder, StretchesOnlyWhereThatIsAskedFor) {
  const TemporaryFolder dir;
  write(dir, "train/a/1.png", plain(10));
  write(dir, "train/a/2.png", plain(20, 4, 4));
  write(dir, "test/a/1.png", plain(30, 9, 9));
  EXPECT_EQ(refused(dir), "folder: pictures are of one size: " + dir.text("train/a/2.png") +
                              " has 4 x 4 pixels, and the first 2 x 3. Cut them to one, or say "
                              "which with --image-size.");
  const data::ImageSource images = load_image_folder(dir.path(), {.side = 5});
  EXPECT_EQ(images.train.pixels.size(), 50U);
  EXPECT_EQ(images.test.pixels, std::vector<uint8_t>(25, 30));
}

TEST(ImageFolder, NamesWhatIsWrong) {
  const TemporaryFolder none, dir;
  EXPECT_EQ(refused(none), "folder: there are no classes: " + none.path().string() +
                               " has no folders. Make one for each class.");
  write(dir, "a/1.png", plain(10));
  EXPECT_EQ(refused(dir), "folder: there is nothing to test with: " + dir.path().string() +
                              " has no class of 10 pictures, of which the tenth would be. Add "
                              "some, or make the folders train and test.");
  dir.write("a/2.png", std::string("GIF89a"));
  for (int i = 10; i < 20; ++i) write(dir, cat("a/", i, ".png"), plain(1));
  EXPECT_EQ(refused(dir), "picture: this is neither PNG nor JPEG nor PGM nor PPM: " +
                              dir.text("a/2.png") + ". Convert it to one of them.");
  fs::create_directory(dir / "b");
  EXPECT_EQ(refused(dir), "folder: there are no pictures of a class: " + dir.text("b") +
                              " is empty. Add some, or remove it.");
  write(dir, "b/c/1.png", plain(10));
  EXPECT_TRUE(refused(dir).starts_with(
      "folder: this is no picture but a folder: " + dir.text("b/c") + ". Put "));
  dir.write("readme.txt", std::string("x"));
  fs::remove_all(dir / "b");
  EXPECT_TRUE(
      refused(dir).starts_with("folder: this is no folder of a class: " + dir.text("readme.txt")));
  const TemporaryFolder other;
  write(other, "train/a/1.png", plain(10));
  write(other, "test/b/1.png", plain(10));
  EXPECT_EQ(refused(other), "folder: no such class is trained: " + other.text("test/b") +
                                ". Give training pictures of it too.");
  EXPECT_THROW(load_image_folder("/no/such"), DataError);
}

TEST(ReadPictures, AreInTheOrderOfTheirNames) {
  const TemporaryFolder dir;
  write(dir, "a.png", plain(1));
  write(dir, "b.png", plain(2, 4, 4));
  const std::vector<std::string> files{dir.text("b.png"), dir.text("a.png")};
  const data::ImageDataset images = read_pictures(files, {2, 3, 3}, {.resize = true});
  EXPECT_EQ(images.count(), 2);
  EXPECT_EQ(images.pixels.front(), 2);
  EXPECT_EQ(images.pixels.back(), 1);
  EXPECT_THROW(read_pictures(files, {2, 3, 3}), DataError);
}

TEST(NormalizationOf, IsMeanAndDeviationOfEachChannel) {
  data::ImageDataset images{.name = "f",
                            .height = 1,
                            .width = 2,
                            .channels = 2,
                            .classes = 1,
                            .normalization = {},
                            .pixels = {0, 7, 255, 7},
                            .labels = {0}};
  const data::Normalization found = normalization_of(images);
  EXPECT_FLOAT_EQ(found.mean[0], 0.5F);
  EXPECT_FLOAT_EQ(found.stddev[0], 0.5F);
  EXPECT_FLOAT_EQ(found.mean[1], 7.0F / 255);
  EXPECT_FLOAT_EQ(found.stddev[1], 1);  // nothing to divide by
  images.class_names = {"one", "two"};
  EXPECT_EQ(error_of<DataError>([&] { normalization_of(images); }),
            "dataset: each class has a name, or none has: f has 2 names for 1 classes. Name all "
            "of them.");
}

}  // namespace
}  // namespace plimsoll::formats
