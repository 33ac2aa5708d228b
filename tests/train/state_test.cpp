// A training state: what is saved comes back in place, bit for bit, and what does not fit changes
// nothing.
#include "train/state.h"

#include <limits>

#include "tests/data/testing.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

// Tensors of several types and two numbers, as one training has them.
struct Small {
  explicit Small(float first = 0) {
    weight = Tensor::of<float>({first, 2, 3, 4, 5, 6}, {2, 3});
    moment = Tensor::of<double>({0.1, -0.0, std::numeric_limits<double>::infinity()}, {3});
    steps = Tensor::of<int64_t>({int64_t{1} << 60}, {});
    empty = Tensor::of<float>({}, {0, 4});
    total = Tensor::of<float>({7, 8}, {2});
    state.tensors("", Named{{"weight", weight}, {"empty", empty}})
        .tensors("optimizer.", Named{{"moment.0", moment}, {"steps", steps}})
        .tensors("window.", Named{{"total", total}}, [this] { return in_window; })
        .number("batches", batches)
        .number("loss", loss)
        .same("model", "small");
  }
  using Named = std::vector<std::pair<std::string, Tensor>>;

  Tensor weight, moment, steps, empty, total;
  int64_t batches = 0;
  double loss = 0;
  bool in_window = false;
  State state;
};

std::filesystem::path written(const TemporaryFolder& dir, const Small& small) {
  write_state(dir / "state", small.state.copy());
  return dir / "state";
}

TEST(TrainState, ComesBackInPlaceBitForBit) {
  const TemporaryFolder dir;
  Small saved(-1);
  saved.batches = 37;
  saved.loss = 0.1 + 0.2;
  const auto file = written(dir, saved);
  Small other;
  const Tensor handle = other.weight;
  other.moment.write(std::span<const double>(std::array{1., 1., 1.}));
  other.state.restore(file);
  EXPECT_EQ(handle.to_vector<float>(), saved.weight.to_vector<float>());
  EXPECT_EQ(other.moment.to_vector<double>(), saved.moment.to_vector<double>());
  EXPECT_TRUE(std::signbit(other.moment.to_vector<double>()[1]));
  EXPECT_EQ(other.steps.item<int64_t>(), int64_t{1} << 60);
  EXPECT_EQ(other.batches, 37);
  EXPECT_EQ(other.loss, 0.1 + 0.2);
}

TEST(TrainState, ACopyIsOfItsMoment) {
  const TemporaryFolder dir;
  Small small(1);
  const StateCopy copy = small.state.copy();
  small.weight.write(std::span<const float>(std::array{9.f, 9.f, 9.f, 9.f, 9.f, 9.f}));
  write_state(dir / "state", copy);
  small.state.restore(dir / "state");
  EXPECT_EQ(small.weight.to_vector<float>()[0], 1);
}

TEST(TrainState, ConditionsAreAskedWhenItIsSaved) {
  const TemporaryFolder dir;
  Small saved, other;
  saved.total.write(std::span<const float>(std::array{1.f, 2.f}));
  other.state.restore(written(dir, saved));
  EXPECT_EQ(other.total.to_vector<float>(), (std::vector<float>{7, 8}));  // not in the file
  saved.in_window = true;
  other.state.restore(written(dir, saved));
  EXPECT_EQ(other.total.to_vector<float>(), (std::vector<float>{1, 2}));
}

// Each bit of the file counts: flipped, it is refused, and nothing has changed.
TEST(TrainState, AnyFlippedBitIsFound) {
  const TemporaryFolder dir;
  const auto file = written(dir, Small(1));
  const data::Bytes good = data::read_file(file);
  Small other(5);
  for (size_t byte = 0; byte < good.size(); ++byte) {
    data::Bytes bad = good;
    bad[byte] ^= static_cast<uint8_t>(1 << byte % 8);
    const auto damaged = dir.write("damaged", bad);
    // Spaces that fill the header up, and the like, may be others without any meaning.
    try {
      check_whole(damaged);
      Small same;
      same.state.restore(damaged);
      EXPECT_EQ(same.weight.to_vector<float>(), Small(1).weight.to_vector<float>()) << byte;
    } catch (const DataError&) {
    } catch (const UsageError&) {  // what has to agree is part of the header
    }
    EXPECT_EQ(other.weight.to_vector<float>()[0], 5);
  }
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(check_whole(dir.write(
                     "torn", data::Bytes(good.begin(), good.begin() + std::ptrdiff_t(size)))),
                 DataError)
        << size;
}

TEST(TrainState, WhatDoesNotFitIsRefusedInASentence) {
  const TemporaryFolder dir;
  const std::string file = written(dir, Small(1)).string();
  State other;
  Tensor weight = Tensor::of<float>({1, 2, 3}, {3});
  other.tensors("", Small::Named{{"weight", weight}});
  EXPECT_EQ(error_of<DataError>([&] { other.restore(file); }),
            "state: " + file +
                " has another weight: f32 [2, 3] on cpu instead of f32 [3] on cpu. It was saved by "
                "another model or optimizer.");
  State more;
  more.tensors("", Small::Named{{"gain", weight}});
  EXPECT_EQ(error_of<DataError>([&] { more.restore(file); }),
            "state: " + file + " has no gain. It was saved by another model or optimizer.");
  State fewer;
  int64_t batches = 5;
  fewer.number("batches", batches);
  EXPECT_EQ(error_of<DataError>([&] { fewer.restore(file); }),
            "state: " + file +
                " has empty, which is not part of this training. It was saved by another one.");
  EXPECT_EQ(batches, 5);
  Small same;
  same.state.same("model", "large");
  EXPECT_EQ(error_of<UsageError>([&] { same.state.restore(file); }),
            "state: " + file +
                " was saved with model small, not with large. Give the same, or begin anew.");
  EXPECT_EQ(same.weight.to_vector<float>()[0], 0);
}

// A training with a scale, or without, and in the middle of a window, or not.
struct Scaled {
  Scaled(const std::string& kind, float first, bool in_window = false) {
    scale = Tensor::of<float>({first}, {});
    total = Tensor::of<float>({first}, {});
    state.number("batches", batches)
        .tensors("window.", Small::Named{{"total", total}}, [=] { return in_window; })
        .may_change("scale", kind, "scaler.", "window.");
    if (kind != "none") state.tensors("scaler.", Small::Named{{"scale", scale}});
  }
  Tensor scale, total;
  int64_t batches = 0;
  State state;
};

TEST(TrainState, WhatMayChangeBeginsAnew) {
  const TemporaryFolder dir;
  for (const std::string before : {"none", "fixed", "dynamic"})
    for (const std::string now : {"none", "fixed", "dynamic"}) {
      Scaled saved(before, 2), other(now, 3);
      saved.batches = 7;
      write_state(dir / "state", saved.state.copy());
      const std::vector<Changed> changed = other.state.restore(dir / "state");
      EXPECT_EQ(other.batches, 7);
      EXPECT_EQ(other.scale.item(), before == now && now != "none" ? 2 : 3) << before << now;
      ASSERT_EQ(changed.size(), before == now ? 0U : 1U);
      if (before == now) continue;
      EXPECT_EQ(changed[0].name, "scale");
      EXPECT_EQ(changed[0].before, before);
      EXPECT_EQ(changed[0].now, now);
    }
  write_state(dir / "state", Scaled("fixed", 2, /*in_window=*/true).state.copy());
  Scaled other("none", 3);
  EXPECT_EQ(error_of<UsageError>([&] { other.state.restore(dir / "state"); }),
            "state: " + dir.text("state") +
                " was saved with scale fixed, not with none, and its window.* was made with that. "
                "Give the same, or take a state without it.");
  EXPECT_EQ(other.total.item(), 3);
  Scaled same("fixed", 3);
  EXPECT_TRUE(same.state.restore(dir / "state").empty());
  EXPECT_EQ(same.total.item(), 2);
}

TEST(TrainState, OtherFilesAreNone) {
  const TemporaryFolder dir;
  const Tensor weight = Tensor::of<float>({1}, {1});
  const formats::NamedTensor named{"weight", weight};
  formats::write_safetensors(dir / "weights", std::span(&named, 1));
  EXPECT_EQ(error_of<DataError>([&] { check_whole(dir / "weights"); }),
            "state: this file is no training state: " + dir.text("weights") +
                ". Name one that a run has saved.");
}

TEST(TrainState, RefusesNamesTwiceAndViews) {
  Small small;
  EXPECT_EQ(error_of<ValueError>([&] { small.state.number("weight", small.batches); }),
            "state: there are two of the name weight. Use another prefix.");
  EXPECT_THROW(small.state.tensors("x.", Small::Named{{"none", Tensor()}}), StateError);
}

}  // namespace
}  // namespace plimsoll::train
