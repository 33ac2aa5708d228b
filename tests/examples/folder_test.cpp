// Pictures of one's own, from a folder to what a net says of them, as a person does it.
#include <nlohmann/json.hpp>

#include "formats/picture_file.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"
#include "tests/support/jpeg_of.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kNames[] = {"brick", "grass", "sky"};

// Noise around a colour of the class: pictures that any net tells from each other.
data::Picture picture(int64_t label, int64_t number, int64_t height, int64_t width) {
  data::Picture picture{height, width, 3, {}};
  for (int64_t i = 0; i < height * width * 3; ++i)
    picture.pixels.push_back(
        static_cast<uint8_t>((i % 3 == label ? 170 : 70) + (i * 2654435761 + number * 40503) % 61));
  return picture;
}

void write_pictures(const TemporaryFolder& dir, const std::string& to, int64_t many) {
  for (int64_t label = 0; label < 3; ++label) {
    const std::string folder = to + "/" + kNames[label];
    fs::create_directories(dir / folder);
    for (int64_t i = 0; i < many; ++i) {
      const data::Picture made = picture(label, i, 16 + 4 * (i % 2), 16);
      const std::string name = cat(folder, "/", 100 + i);
      if (i % 3 == 0)
        dir.write(name + ".jpg", jpeg_of(made));
      else
        dir.write(name + ".png", formats::png_of(made));
    }
  }
}

std::string refusal(const std::string& command, int code) {
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, code) << outcome.output;
  return outcome.output;
}

TEST(Folder, TrainsAndPredictsByTheNamesOfItsFolders) {
  const TemporaryFolder dir;
  write_pictures(dir, "pictures", 20);
  const std::string data = "folder:" + dir.text("pictures"),
                    of_run = "predict --run " + dir.text("r");
  EXPECT_NE(refusal("train_cnn --data " + data, 3).find("folder: pictures are of one size: "),
            std::string::npos);
  const Outcome trained =
      run(cat("train_cnn --model resnet8 --image-size 16 --batch 9 --epochs 3 --data ", data,
              " --run ", dir.text("r"), " --export ", dir.text("w"), " --json ", dir.text("t")));
  ASSERT_EQ(trained.code, 0) << trained.output;
  const double loss = Json::parse(data::read_text(dir / "t"))["final"]["val_loss"];

  const std::string json = " --json " + dir.text("p");
  const Outcome said =
      run(of_run + " --confusion --resize " + dir.text("pictures/sky/101.png") + json);
  ASSERT_EQ(said.code, 0) << said.output;
  EXPECT_NE(said.output.find("\n2 sky            0    0    2  1.000"), std::string::npos)
      << said.output;
  const Json predicted = Json::parse(data::read_text(dir / "p"));
  EXPECT_EQ(predicted["predictions"][0]["top"][0]["name"], "sky");
  EXPECT_EQ(predicted["class_names"], Json(kNames));
  EXPECT_EQ(predicted["evaluation"]["loss"], loss);
  EXPECT_EQ(predicted["evaluation"]["images"], 6);

  // Exported weights say no size.
  const std::string weights = cat("predict --evaluate --model resnet8 --batch 9 --data ", data,
                                  " --weights ", dir.text("w"), json);
  EXPECT_EQ(run(weights).code, 3);
  ASSERT_EQ(run(weights + " --image-size 16").code, 0);
  EXPECT_EQ(Json::parse(data::read_text(dir / "p"))["evaluation"]["loss"], loss);

  // Moved, they are the same; with another picture they are not.
  fs::rename(dir / "pictures", dir / "moved");
  EXPECT_NE(refusal(of_run + " --evaluate", 3)
                .find("The run read it there: say with --data where it lies now."),
            std::string::npos);
  const std::string moved = " --data folder:" + dir.text("moved");
  EXPECT_EQ(run(of_run + " --evaluate" + moved).code, 0);
  const std::string resume = "train_cnn --resume " + dir.text("r") + moved;
  const Outcome over = run(resume);
  EXPECT_EQ(over.code, 0) << over.output;
  EXPECT_NE(
      over.output.find("training is over: all of its 18 batches were made; nothing is planned"),
      std::string::npos)
      << over.output;
  EXPECT_EQ(over.output.find("plan: "), std::string::npos) << over.output;
  fs::copy_file(dir / "moved/sky/101.png", dir / "moved/sky/102.png",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(refusal(resume, 2).find(" was saved with "), std::string::npos);
}

// The program of docs/training.md, as docs/data.md says.
TEST(Folder, IsDataForAModelOfOnesOwn) {
  const TemporaryFolder dir;
  for (const char* name : kNames) {
    fs::create_directories(dir / (std::string("p/") + name));
    for (int64_t i = 0; i < 100; ++i)
      dir.write(cat("p/", name, "/", 100 + i, ".png"), formats::png_of(picture(name[0] == 'b'   ? 0
                                                                               : name[0] == 'g' ? 1
                                                                                                : 2,
                                                                               i, 16, 16)));
  }
  const std::string there = "cd " + dir.path().string() + " && ";
  const Outcome trained = run("own_model folder:p", there);
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_NE(trained.output.find("p train, 270 images"), std::string::npos) << trained.output;
  const Outcome other = run("own_model", there);  // on other images
  EXPECT_EQ(other.code, 1) << other.output;
  EXPECT_NE(other.output.find(" was saved with class names brick/grass/sky, not with ring/"),
            std::string::npos)
      << other.output;
}

TEST(Folder, OptionsOfItAreForItAlone) {
  EXPECT_NE(refusal("train_cnn --grey", 2)
                .find("--grey: only pictures of a folder can be made grey: builtin."),
            std::string::npos);
  EXPECT_NE(refusal("train_cnn --data folder:/no/such", 3)
                .find("--data folder:/no/such: data: there is no such folder: /no/such"),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll::examples
