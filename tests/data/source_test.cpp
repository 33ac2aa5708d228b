// --data: what is accepted and what is refused.
#include "data/source.h"

#include "data/images/builtin_images.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

TEST(DataSource, BuiltinNeedsNothing) {
  const ImageSource images = load_images("builtin");
  EXPECT_EQ(images.train.pixels, draw_images(Split::train).pixels);
  EXPECT_EQ(images.test.pixels, draw_images(Split::test).pixels);
  const TextDataset text = load_text("builtin");
  EXPECT_EQ(text.name, "builtin");
  EXPECT_GT(text.train.size(), size_t{100'000});
}

TEST(DataSource, ReadsFoldersAndFiles) {
  const TemporaryFolder dir;
  const Bytes images = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 200};
  const Bytes labels = {0, 0, 8, 1, 0, 0, 0, 1, 5};
  for (const std::string split : {"train", "t10k"}) {
    dir.write(split + "-images-idx3-ubyte", images);
    dir.write(split + "-labels-idx1-ubyte", labels);
  }
  Bytes record(3073);
  record[0] = 4;
  dir.write("test_batch_1.bin", record);
  record.resize(10'000 * record.size());
  dir.write("data_batch_5.bin", record);
  EXPECT_EQ(load_images("mnist:" + dir.path().string()).train.name, "mnist train");
  EXPECT_EQ(load_images("fashion:" + dir.path().string()).test.name, "fashion-mnist test");
  const ImageSource cifar10 = load_images("cifar10:" + dir.path().string());
  EXPECT_EQ(cifar10.test.labels, std::vector<int64_t>{4});
  EXPECT_EQ(cifar10.train.name, "cifar10 train (1 of 5 batches)");
  dir.write("a:b.txt", "to be or not");
  EXPECT_EQ(load_text("text:" + dir.text("a:b.txt")).train.size(), size_t{10});
}

TEST(DataSource, RefusesEverythingElse) {
  for (const std::string source : {"", "mnist", "mnist:", "imagenet:x", "text:x", " builtin"})
    EXPECT_EQ(error_of<UsageError>([&] { load_images(source); }),
              "data: this names no images: \"" + source +
                  "\". Use builtin | mnist:DIR | fashion:DIR | cifar10:DIR | folder:DIR.");
  EXPECT_EQ(error_of<UsageError>([&] { load_images("folder:x"); }),
            "data: pictures in files are not read here: folder:x. Use formats::load_images().");
  for (const std::string source : {"", "text:", "mnist:x", "file"})
    EXPECT_EQ(error_of<UsageError>([&] { load_text(source); }),
              "data: this names no text: \"" + source + "\". Use builtin | text:FILE.");
  EXPECT_THROW(load_images("mnist:/no/such/folder"), DataError);
  EXPECT_THROW(load_text("text:/no/such/file"), DataError);
}

}  // namespace
}  // namespace plimsoll::data
