// predict, as a person runs it, on a lenet that trained for an epoch on small data.
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "data/source.h"
#include "formats/picture_file.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/support/python.h"
#include "train/run_folder.h"
#include "train/saves.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// One training for all tests of a process.
class Predict : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir = new TemporaryFolder;
    write_small_images(*dir);
    const Outcome outcome =
        run(cat("train_cnn --model lenet --data mnist:", dir->path().string(),
                " --batch 16 --epochs 2 --save-every 6 --keep 5 --run ", dir->text("r"),
                " --export ", dir->text("w.safetensors"), " --json ", dir->text("trained.json")));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  static void TearDownTestSuite() { delete dir; }

  static std::string of_run() { return "predict --run " + dir->text("r"); }
  static std::string of_weights() {
    return cat("predict --weights ", dir->text("w.safetensors"),
               " --model lenet --data mnist:", dir->path().string());
  }
  static Json json_of(const std::string& command) {
    const std::string file = dir->text("predicted.json");
    const Outcome outcome = run(command + " --json " + file);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return outcome.code == 0 ? Json::parse(data::read_text(file)) : Json();
  }
  static data::Picture entry(int64_t number) {
    const auto test = data::load_images("mnist:" + dir->path().string(), data::Split::test);
    const auto first = test.pixels.begin() + number * test.image_bytes();
    return {test.height, test.width, test.channels, {first, first + test.image_bytes()}};
  }
  static std::string write_png(const std::string& name, const data::Picture& picture) {
    return dir->write(name, formats::png_of(picture)).string();
  }

  static TemporaryFolder* dir;
};
TemporaryFolder* Predict::dir = nullptr;

TEST_F(Predict, EvaluatesToTheLastDigitOfTheTraining) {
  const Json trained = Json::parse(data::read_text(dir->text("trained.json")));
  for (const std::string& who : {of_run(), of_weights() + " --batch 16"}) {
    const Json json = json_of(who + " --evaluate --confusion");
    EXPECT_EQ(json["evaluation"]["loss"], trained["final"]["val_loss"]);
    EXPECT_EQ(json["evaluation"]["accuracy"], trained["final"]["accuracy"]);
    EXPECT_EQ(json["planned_bytes"], json["peak_bytes"]);
    int64_t right = 0, all = 0;
    ASSERT_EQ(json["confusion"].size(), 10U);
    for (size_t label = 0; label < 10; ++label) {
      const auto row = json["confusion"][label].get<std::vector<int64_t>>();
      EXPECT_EQ(std::accumulate(row.begin(), row.end(), int64_t{0}), 5);  // of 50 images
      right += row[label];
      all += 5;
    }
    EXPECT_EQ(static_cast<double>(right) / static_cast<double>(all),
              json["evaluation"]["accuracy"].get<double>());
  }
}

TEST_F(Predict, SeesAPictureAsItSeesThatEntry) {
  const std::string png = write_png("p.png", entry(7));
  data::Picture colour = data::fitted(entry(7), "f", {28, 28, 3});
  const std::string rgb = write_png("rgb.png", colour);
  std::string pgm = "P5 28 28 255\n";
  for (const uint8_t pixel : entry(7).pixels) pgm += static_cast<char>(pixel);
  dir->write("p.pgm", pgm);
  const Json json =
      json_of(of_run() + " --top 10 --entry 7,2-3 " + png + " " + rgb + " " + dir->text("p.pgm"));
  ASSERT_EQ(json["predictions"].size(), 6U);
  EXPECT_EQ(json["predictions"][0]["image"], png);
  EXPECT_EQ(json["predictions"][3]["entry"], 7);
  EXPECT_EQ(json["predictions"][3]["label"], 7);
  EXPECT_EQ(json["predictions"][5]["entry"], 3);
  double sum = 0;
  for (const Json& one : json["predictions"][0]["top"]) sum += one["probability"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  for (const size_t same : {0, 1, 2})
    EXPECT_EQ(json["predictions"][same]["top"], json["predictions"][3]["top"]);
  EXPECT_EQ(json["planned_bytes"], json["peak_bytes"]);
  EXPECT_EQ(json["normalization"]["mean"], Json::array({0.1307}));
  // The exported weights are the same net.
  const Json again = json_of(of_weights() + " --top 10 " + png);
  EXPECT_EQ(again["predictions"][0]["top"].dump(), json["predictions"][0]["top"].dump());
}

TEST_F(Predict, ProbabilitiesAreThoseOfNumpy) {
  NEEDS_PYTHON("numpy");
  const std::string png = write_png("p.png", entry(12));
  const Json json = json_of(of_weights() + " --top 10 " + png);
  const Outcome outcome = python::run("examples/references/lenet_numpy.py",
                                      {dir->text("w.safetensors"), "0.1307", "0.3081", png});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::vector<double> wanted;
  std::istringstream words(outcome.output);
  for (double p; words >> p;) wanted.push_back(p);
  ASSERT_EQ(wanted.size(), 10U) << outcome.output;
  for (const Json& one : json["predictions"][0]["top"])
    EXPECT_NEAR(one["probability"].get<double>(), wanted[one["class"].get<size_t>()], 1e-5);
}

TEST_F(Predict, TakesWhatItPlansAndNoBudgetBelow) {
  const std::string evaluate = of_run() + " --evaluate";
  const Json planned = json_of(evaluate + " --plan-only");
  EXPECT_FALSE(planned.contains("evaluation"));
  const Json ran = json_of(evaluate);
  EXPECT_EQ(planned["planned_bytes"], ran["peak_bytes"]);
  const Outcome outcome = run(evaluate + " --budget 1000");
  EXPECT_EQ(outcome.code, 2);
  const std::string takes = "the smallest plan found takes ";
  const int64_t smallest = number_after(outcome.output, takes);
  ASSERT_GT(smallest, 0) << outcome.output;
  const Json within = json_of(evaluate + " --budget " + std::to_string(smallest));
  EXPECT_EQ(within["evaluation"], ran["evaluation"]);
  EXPECT_EQ(within["planned_bytes"], within["peak_bytes"]);
  EXPECT_LE(within["peak_bytes"], smallest);
  const Outcome less = run(evaluate + " --budget " + std::to_string(smallest - 1));
  EXPECT_EQ(less.code, 2) << less.output;
  EXPECT_GT(number_after(less.output, takes), 0) << less.output;
}

TEST_F(Predict, ShowsTheWorstMistakes) {
  const std::string page = dir->text("page.html");
  const Json json = json_of(of_run() + " --worst 4 --report " + page);
  const double wrong = 50 * (1 - json["evaluation"]["accuracy"].get<double>());
  EXPECT_EQ(json["worst"].size(), static_cast<size_t>(std::min(4.0, std::round(wrong))));
  double last = 0;
  for (const Json& mistake : json["worst"]) {
    EXPECT_NE(mistake["label"], mistake["guess"]);
    EXPECT_EQ(mistake["label"].get<int64_t>(), mistake["entry"].get<int64_t>() % 10);
    EXPECT_GE(mistake["label_probability"].get<double>(), last);
    last = mistake["label_probability"];
  }
  const std::string text = data::read_text(page);
  for (const char* outside : {"src=", "href=", "url(", "fetch(", "import", "@DATA@"})
    EXPECT_EQ(text.find(outside), std::string::npos) << "it needs " << outside;
  size_t pictures = 0;
  const std::string begin = "\"png\":\"iVBORw0KGgo";  // PNG's first bytes
  for (size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++at) ++pictures;
  EXPECT_EQ(pictures, json["worst"].size());
}

TEST_F(Predict, MakesPicturesFitWhereItIsAllowedTo) {
  const std::string large = write_png("large.png", data::resized(entry(7), 56, 56));
  expect_refusal(of_run() + " " + large, 3,
                 "picture: it is of another size: " + large +
                     " has 56 x 56 pixels, wanted are 28 x 28. Cut it to that size, or allow "
                     "--resize.");
  EXPECT_EQ(json_of(of_run() + " --resize " + large)["predictions"].size(), 1U);
  data::Picture colour = data::fitted(entry(7), "f", {28, 28, 3});
  colour.pixels[0] ^= 1;
  const std::string red = write_png("red.png", colour);
  expect_refusal(of_run() + " " + red, 3, "picture: it has colours, and grey is wanted: " + red);
  EXPECT_EQ(json_of(of_run() + " --grey " + red)["predictions"].size(), 1U);
}

TEST_F(Predict, TakesTheNextSaveWhereOneIsDamaged) {
  const TemporaryFolder other;
  fs::copy(dir->text("r"), other.text("r"), fs::copy_options::recursive);
  const auto saves = train::list_saves(train::RunFolder::saves_of(other.text("r")));
  ASSERT_GE(saves.size(), 2U);
  std::string bytes = data::read_text(saves[0].file);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(saves[0].file, std::ios::binary) << bytes;
  const std::string command = "predict --entry 1 --run " + other.text("r");
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("the file is damaged: " + saves[0].file.string()),
            std::string::npos);
  EXPECT_NE(outcome.output.find("lenet of " + saves[1].file.string()), std::string::npos);
  EXPECT_TRUE(fs::exists(saves[0].file));  // it is not ours to set aside
  for (const train::Save& save : saves) std::ofstream(save.file) << "short";
  expect_refusal(command, 3, "can be read. The newest: ");
  fs::remove_all(other / "r/saves");
  expect_refusal(command, 3, "saved model: there is no save in ");
}

TEST_F(Predict, ReadsARunThatAnotherProcessTrains) {
  const train::RunFolder locked(dir->text("r"), /*resume=*/true);
  EXPECT_EQ(json_of(of_run() + " --best --entry 3")["predictions"].size(), 1U);
}

TEST_F(Predict, RefusesWhatItCannotUse) {
  const std::string png = write_png("p.png", entry(7));
  expect_refusal("predict " + png, 2, "predict: it takes the weights of a run or of a file: ");
  expect_refusal(of_run(), 2, "predict: there is nothing to predict: no pictures.");
  const Json planned = json_of(of_run() + " --plan-only");  // what a batch takes
  EXPECT_EQ(planned["planned_bytes"], json_of(of_run() + " --evaluate")["planned_bytes"]);
  const std::string save =
      train::list_saves(train::RunFolder::saves_of(dir->text("r")))[0].file.string();
  expect_refusal("predict --weights " + save + " --model lenet " + png, 2,
                 "--weights " + save +
                     ": this is a save of a run, not weights that --export has "
                     "written. Name its folder with --run ");
  expect_refusal(of_run() + " --model vgg " + png, 2,
                 "--model: the run has another one: " + dir->text("r") + " has lenet, not vgg.");
  expect_refusal("predict --run /nowhere " + png, 2, "--run: this is no run: /nowhere has no ");
  expect_refusal("predict --weights " + dir->text("w.safetensors") + " " + png, 2,
                 "--weights: the file does not say what model it is of: ");
  expect_refusal("predict --weights " + dir->text("w.safetensors") + " --model sepcnn " + png, 3,
                 "--weights ");
  expect_refusal(of_run() + " --data builtin --entry 2000", 2,
                 "--entry: there is no such image: 2000 of a test split with 2000. Count from 0 to "
                 "1999.");
  for (const char* bad : {"x", "3-", "4-2", "1,,2", "-1", "99999999999999999999"})
    expect_refusal(cat(of_run(), " --entry=", bad), 2, "--entry: these are no entries: ");
  expect_refusal(of_run() + " " + dir->text("none.png"), 3, "there is no such file: ");
  dir->write("cut.png", data::read_text(png).substr(0, 100));
  expect_refusal(of_run() + " " + dir->text("cut.png"), 3, "png: the file is broken: ");
  expect_refusal(of_run() + " " + dir->text("w.safetensors"), 3,
                 "picture: this is neither PNG nor JPEG nor PGM nor PPM: ");
  fs::create_directory(*dir / "text");
  dir->write("text/config.toml", std::string("model=\"gpt\"\n"));
  expect_refusal("predict --entry 1 --run " + dir->text("text"), 2,
                 "has the model gpt. Name a run of train_cnn.");
}

}  // namespace
}  // namespace plimsoll::examples
