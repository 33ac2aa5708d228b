// What a run was trained on is what it goes on with: data to the last byte, what the loader draws,
// and the normalization; and a saved model says how pictures reach it.
#include <gtest/gtest.h>

#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "nn/nn.h"
#include "optim/adam.h"
#include "tests/data/testing.h"
#include "train/predict/classifier.h"
#include "train/predict/saved_model.h"
#include "train/trainer.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

data::ImageDataset some(data::Split split) {
  return data::draw_images(split, {.count = split == data::Split::train ? 40 : 20});
}

std::string value_of(const Identity& identity, const std::string& name) {
  for (const auto& [key, value] : identity)
    if (key == name) return value;
  return "";
}

// Everything that makes two runs different.
struct Training {
  data::ImageDataset train = some(data::Split::train), test = some(data::Split::test);
  data::LoaderAttrs attrs{.batch = 10, .shuffle = true, .drop_last = true};
  nn::Initializer init{.seed = 1};
  nn::Sequential model;

  Training() { model.then<nn::Flatten>().then<nn::Linear>(784, 10, init); }
  Result go_on(const std::string& run) {
    optim::AdamW optimizer(model.parameters());
    data::Loader training(train, attrs), testing(test, {.batch = 10});
    return Trainer(model, optimizer, batches(training), batches(testing),
                   {.epochs = 1, .run = run, .resume = true})
        .run();
  }
};

TEST(Identity, IsOfAllThatIsThereAndNothingElse) {
  data::ImageDataset images = some(data::Split::train);
  images.pixels.resize((size_t{1} << 23) / 784 * 784);  // a large one, most of it 0
  images.labels.resize(images.pixels.size() / 784);
  const auto identity_of = [&](data::LoaderAttrs attrs) {
    const data::Loader loader(images, attrs);
    return batches(const_cast<data::Loader&>(loader)).identity;
  };
  const data::LoaderAttrs attrs{.batch = 10};
  const Identity before = identity_of(attrs);
  EXPECT_EQ(value_of(before, "data"), "10699 images of 28 x 28 x 1 in 10 classes");
  EXPECT_EQ(value_of(before, "normalization"), "mean 0.6511, stddev 0.2536");
  EXPECT_TRUE(value_of(before, "class names").starts_with("ring/open ring/cross/"));
  images.name = "in another folder";
  EXPECT_EQ(identity_of(attrs), before);
  EXPECT_EQ(identity_of({.batch = 10, .workers = 3, .prefetch = 7}), before);
  images.pixels.back() ^= 1;
  EXPECT_NE(identity_of(attrs), before);
  EXPECT_EQ(value_of(identity_of(attrs), "labels"), value_of(before, "labels"));
  images.pixels.back() ^= 1;
  images.labels.back() = 1;
  EXPECT_NE(identity_of(attrs), before);
  images.labels.back() = 0;
  EXPECT_EQ(identity_of(attrs), before);
  EXPECT_NE(identity_of({.batch = 10, .shuffle = true}), before);
  EXPECT_NE(identity_of({.batch = 10, .shuffle = true, .seed = 3}),
            identity_of({.batch = 10, .shuffle = true, .seed = 4}));
  EXPECT_EQ(identity_of({.batch = 10, .seed = 3}), before);  // nothing is drawn
  EXPECT_NE(identity_of({.batch = 10, .drop_last = true}), before);
  EXPECT_NE(identity_of({.batch = 10, .augment = {.crop = 2}}), before);
}

TEST(Identity, ARunGoesOnWithTheSameOnly) {
  const TemporaryFolder dir;
  const std::string run = dir.text("run");
  Training().go_on(run);
  const auto refused = [&](const auto& change) {
    Training other;
    change(other);
    const std::string said = error_of<UsageError>([&] { other.go_on(run); });
    const size_t at = said.find(" was saved with ");
    return at == std::string::npos ? said : said.substr(at + 16);
  };
  EXPECT_EQ(refused([](Training& t) { t.train.pixels.back() ^= 1; }),
            "other pixels. Give the same, or begin anew.");
  EXPECT_EQ(refused([](Training& t) { t.train.labels.back() ^= 1; }),
            "other labels. Give the same, or begin anew.");
  EXPECT_EQ(refused([](Training& t) { t.test.pixels.back() ^= 1; }),
            "other test pixels. Give the same, or begin anew.");
  EXPECT_EQ(refused([](Training& t) {
              t.train.normalization = {{0.5F}, {0.25F, 1, 1}};
            }),
            "normalization mean 0.6511, stddev 0.2536, not with mean 0.5, stddev 0.25. Give the "
            "same, or begin anew.");
  EXPECT_EQ(refused([](Training& t) { t.attrs.seed = 7; }),
            "shuffle yes, by seed 0, not with yes, by seed 7. Give the same, or begin anew.");
  EXPECT_EQ(refused([](Training& t) { t.attrs.augment = {.crop = 2, .flip = true}; }),
            "augment none, not with crop=2,flip, by seed 0. Give the same, or begin anew.");
  EXPECT_EQ(refused([](Training& t) { t.train.class_names[2] = "plus"; }),
            "class names ring/open ring/cross/triangle/square/tee/zigzag/wave/arrow/bars, not with "
            "ring/open ring/plus/triangle/square/tee/zigzag/wave/arrow/bars. Give the same, or "
            "begin anew.");
  Training same;
  same.train.name = "elsewhere";
  EXPECT_TRUE(same.go_on(run).over);
}

// Whatever the pictures that are asked about say of themselves.
TEST(Identity, ASavedModelSaysHowPicturesReachIt) {
  const TemporaryFolder dir;
  Training run;
  const Result result = run.go_on(dir.text("run"));
  const SavedModel saved = read_saved_model(dir.text("run"), run.model);
  EXPECT_EQ(saved.normalization(), data::kBuiltinNormalization);
  EXPECT_EQ(saved.class_names(), run.train.class_names);
  run.test.normalization = {};
  const Classified classified =
      Classifier(run.model, saved.normalization(), run.test, {.batch = 10}).run();
  EXPECT_EQ(classified.score.loss.value(), result.last.at("val_loss"));
  const SavedModel none{};
  EXPECT_THROW(none.normalization(), DataError);
  EXPECT_TRUE(none.class_names().empty());
}

TEST(Normalization, IsTextAndBack) {
  const data::Normalization three{{0.1F, 0.2F, 1.0F / 3}, {0.25F, 1, 1e-7F}};
  EXPECT_EQ(parse_normalization(text_of(three, 3)), three);
  EXPECT_EQ(text_of(data::kBuiltinNormalization, 1), "mean 0.6511, stddev 0.2536");
  for (const char* bad : {"", "mean, stddev", "mean 1", "mean 1 2, stddev 1", "mean x, stddev 1",
                          "mean 1, stddev 1 ", "mean 1 2 3 4, stddev 1 2 3 4"})
    EXPECT_THROW(parse_normalization(bad), DataError) << bad;
}

}  // namespace
}  // namespace plimsoll::train
