// plot, as a person runs it, on runs that trained for a moment.
#include <nlohmann/json.hpp>

#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "train/pictures/curves.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using Json = nlohmann::json;

// The figures in a page.
Json figures_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

const Json* chart(const Json& figures, const std::string& title) {
  for (const Json& one : figures["charts"])
    if (one["title"] == title) return &one;
  return nullptr;
}

class Plot : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir = new TemporaryFolder;
    write_small_images(*dir);
    for (const char* precision : {"f32", "bf16"}) {
      const Outcome outcome =
          run(cat("train_cnn --model sepcnn --data mnist:", dir->path().string(),
                  " --batch 16 --epochs 2 --log-every 3 --precision ", precision, " --run ",
                  dir->text(precision)));
      ASSERT_EQ(outcome.code, 0) << outcome.output;
    }
  }
  static void TearDownTestSuite() { delete dir; }

  static Outcome plot(const std::string& runs) {
    return run(cat("plot ", runs, " --output ", dir->text("page.html")));
  }
  static void expect_refused(const std::string& runs, int code, const std::string& message) {
    const Outcome outcome = plot(runs);
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_EQ(outcome.output, message + "\n");
  }

  static TemporaryFolder* dir;
};
TemporaryFolder* Plot::dir = nullptr;

TEST_F(Plot, DrawsWhatTheLogsHave) {
  const Outcome outcome = plot(dir->text("f32") + " " + dir->text("bf16"));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "f32: 8 rows, until batch 24\nbf16: 8 rows, until batch 24\n");
  const std::string page = data::read_text(dir->text("page.html"));
  for (const char* outside : {"src=", "href=", "url(", "fetch(", "import", "@DATA@"})
    EXPECT_EQ(page.find(outside), std::string::npos) << "it needs " << outside;
  const Json figures = figures_of(page);
  EXPECT_EQ(figures["runs"], Json::array({"f32", "bf16"}));
  for (const char* title :
       {"Loss", "Validation loss", "Accuracy", "Learning rate", "Memory", "Throughput"})
    EXPECT_NE(chart(figures, title), nullptr) << title;
  EXPECT_EQ(chart(figures, "Perplexity"), nullptr);
  const Json& loss = (*chart(figures, "Loss"))["series"][0];
  EXPECT_EQ(loss["x"], Json::array({3, 6, 9, 12, 15, 18, 21, 24}));
  const std::vector<train::LogRow> rows = train::read_log(*dir / "f32");
  for (size_t i = 0; i < 8; ++i)
    for (const auto& [name, value] : rows[i].figures)
      if (name == "loss") {
        EXPECT_EQ(loss["y"][i], value);
      }
}

TEST_F(Plot, MemoryIsWhatWasPlanned) {
  ASSERT_EQ(plot(dir->text("f32")).code, 0);
  const Json figures = figures_of(data::read_text(dir->text("page.html")));
  const Json& series = (*chart(figures, "Memory"))["series"];
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0]["name"], "measured");
  EXPECT_EQ(series[0]["y"], series[1]["y"]);
  // What is measured stays out of the file that is the same in every run.
  const std::string csv = data::read_text(*dir / "f32/log.csv");
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "batches,loss,mean_loss,val_loss,accuracy,learning_rate");
}

TEST_F(Plot, RunsOfOneNameAreToldByTheirPaths) {
  const std::filesystem::path other = *dir / "other/f32";
  std::filesystem::create_directories(other);
  std::ofstream(other / "metrics.jsonl")  // of an older log, with a row that is being written
      << "{\"batches\":5,\"loss\":2.5,\"time\":1.5}\n{\"batches\":10,\"lo";
  const Outcome outcome = plot(dir->text("f32") + " " + other.string() + "/");
  EXPECT_EQ(outcome.output, cat(dir->text("f32"), ": 8 rows, until batch 24\n", other.string(),
                                "/: 1 rows, until batch 5\n"));
  const Json figures = figures_of(data::read_text(dir->text("page.html")));
  EXPECT_EQ((*chart(figures, "Loss"))["series"][1]["y"], Json::array({2.5}));
  EXPECT_EQ((*chart(figures, "Throughput"))["series"].size(), 1U);
}

TEST_F(Plot, RefusesWhatIsNoRun) {
  expect_refused(dir->text("none"), 2,
                 "plot: this is no run: " + dir->text("none") +
                     " has no metrics.jsonl. Name the folder of a run.");
  expect_refused(
      dir->text("f32") + " " + dir->text("bf16/../f32"), 2,
      "plot: a run is given twice: " + dir->text("bf16/../f32") + ". Leave it out once.");
  std::filesystem::create_directory(*dir / "empty");
  dir->write("empty/metrics.jsonl", std::string());
  expect_refused(dir->text("empty"), 3,
                 "plot: there is nothing in the log yet: " + dir->text("empty") +
                     ". Wait for its first row, or leave it out.");
  EXPECT_EQ(run("plot " + dir->text("f32")).code, 2);
  EXPECT_EQ(run(cat("plot ", dir->text("f32"), " --output /nowhere/page.html")).code, 2);
}

TEST(Curves, OfLongLogsKeepPeaksAndDips) {
  train::Curves run{"</script>", {}};
  for (int64_t i = 0; i < 100'000; ++i)
    run.rows.push_back({i, {{"loss", i == 31'234 ? 9.0 : i == 70'001 ? -9.0 : 1.0}}});
  const std::string page = train::curves_page({&run, 1});
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
  const Json figures = figures_of(page);
  const auto y = figures["charts"][0]["series"][0]["y"].get<std::vector<double>>();
  EXPECT_LE(y.size(), 2000U);
  EXPECT_EQ(std::ranges::count(y, 9.0), 1);
  EXPECT_EQ(std::ranges::count(y, -9.0), 1);
}

}  // namespace
}  // namespace plimsoll::examples
