// place_offsets and check_offsets as a person runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/examples/testing.h"
#include "tests/support/box_packings.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using examples::Outcome;

class ToolsOffsets : public ::testing::Test {
 protected:
  ToolsOffsets() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ToolsOffsets() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  Outcome place(const std::string& csv, const std::string& options = "") const {
    return examples::run("place_offsets --input " + write("in.csv", csv) + " --output " +
                         path("out.csv") + " " + options);
  }
  Outcome check(const std::string& options = "") const {
    return examples::run("check_offsets --input " + path("in.csv") + " --output " +
                         path("out.csv") + " " + options);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("plimsoll_tools_" + std::to_string(getpid()));
};

TEST_F(ToolsOffsets, PlacesAndChecks) {
  const std::string csv =
      "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";
  const Outcome placed = place(csv, "--capacity 12");
  EXPECT_EQ(placed.code, 0) << placed.output;
  EXPECT_NE(placed.output.find("placed: height 12"), std::string::npos) << placed.output;
  EXPECT_EQ(read(path("out.csv")).substr(0, 27), "id,lower,upper,size,offset\n");
  EXPECT_EQ(check("--capacity 12").code, 0);
  const Outcome low = check("--capacity 11");
  EXPECT_EQ(low.code, 1);
  EXPECT_NE(low.output.find("sticks out"), std::string::npos) << low.output;
}

TEST_F(ToolsOffsets, CheckFindsWhatIsWrong) {
  const std::string head = "id,lower,upper,size,offset\n";
  write("in.csv", "id,lower,upper,size\na,0,2,10\nb,1,3,10\n");
  const std::tuple<std::string, int, std::string> cases[] = {
      {"a,0,2,10,0\nb,1,3,10,10\n", 0, "right"},
      {"a,0,2,10,0\nb,1,3,10,9\n", 1, "a and b overlap"},
      {"a,0,2,10,-1\nb,1,3,10,10\n", 1, "below 0"},
      {"a,0,2,10,0\n", 1, "b is not placed"},
      {"a,0,1,10,0\nb,1,3,10,0\n", 1, "another lifetime"},
      {"a,0,2,10,0\nb,1,3,10,10\nc,1,3,10,20\n", 1, "c is not in the input"},
      {"a,0,2,10,0\nb,1,3,10,x\n", 2, "line 3"},
  };
  for (const auto& [rows, code, words] : cases) {
    write("out.csv", head + rows);
    const Outcome outcome = check();
    EXPECT_EQ(outcome.code, code) << rows << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << rows << outcome.output;
  }
}

TEST_F(ToolsOffsets, CheckRefusesWhatPlacingRefuses) {
  for (const char* row : {"a,5,1,10", "a,1,1,10", "a,0,2,-10", "a,5,1,-10"}) {
    write("in.csv", "id,lower,upper,size\n" + std::string(row) + "\n");
    write("out.csv", "id,lower,upper,size,offset\n" + std::string(row) + ",0\n");
    EXPECT_EQ(check().code, 2) << row;
  }
  write("in.csv", "id,lower,upper,size\na,0,1,9\n");
  write("out.csv", "id,lower,upper,size,offset\na,0,1,9,0\n");
  EXPECT_EQ(check("--capacity 010").code, 0);  // ten, not eight
  for (const char* capacity : {"0x10", "ten", "1.5", "10a"})
    EXPECT_EQ(check(std::string("--capacity ") + capacity).code, 2) << capacity;
}

// Too many to search: it says so, and does not spend its time.
TEST_F(ToolsOffsets, MoreThanCanBeSearched) {
  std::mt19937 random(1);
  std::string csv = "id,lower,upper,size\n";
  for (int i = 0; i < 5200; ++i)
    csv +=
        cat(i, ",", i, ",", i + 2 + static_cast<int>(random() % 99), ",", 1 + random() % 999, "\n");
  const Outcome lowest = place(csv, "--seconds 1e9 --threads 1");  // returns
  EXPECT_EQ(lowest.code, 0) << lowest.output;
  EXPECT_NE(lowest.output.find("no placement is lower than "), std::string::npos) << lowest.output;
  std::istringstream words(lowest.output.substr(lowest.output.rfind(" than ") + 6));
  std::string bound;
  std::getline(words, bound, ';');
  const Outcome within = place(csv, "--capacity " + bound);
  EXPECT_EQ(within.code, 1);
  EXPECT_NE(within.output.find("unknown: more than 5000 buffers hang together in time"),
            std::string::npos)
      << within.output;
}

TEST_F(ToolsOffsets, AcceptsWhatMeansTheSame) {
  const std::string same[] = {
      "id,lower,upper,size\na,0,2,10\nb,1,3,5\n",
      "\n \nid,lower,upper,size\na,0,2,10\nb,1,3,5\n",
      "size,id,upper,lower\r\n10,a,2,0\r\n5,b,3,1\r\n",
      "\xEF\xBB\xBFid, lower, upper, size\n\na, 0,2,10\nb,1,3,5",
  };
  for (const std::string& csv : same) {
    EXPECT_EQ(place(csv).code, 0) << csv;
    EXPECT_EQ(read(path("out.csv")), "id,lower,upper,size,offset\na,0,2,10,5\nb,1,3,5,0\n") << csv;
    EXPECT_EQ(check("--capacity 15").code, 0) << csv;
    EXPECT_EQ(check("--capacity 015").code, 0) << csv;
  }
  EXPECT_EQ(place("id,lower,upper,size\n", "--capacity 0").code, 0);  // nothing to place
  EXPECT_EQ(check("--capacity 0").code, 0);
  EXPECT_EQ(place("id,lower,upper,size\nempty,0,9,0\nx,-5,-2,1\n", "--capacity 1").code, 0);
  EXPECT_EQ(check("--capacity 1").code, 0);
  const std::string huge = "1152921504606846976";  // 2^60
  EXPECT_EQ(place("id,lower,upper,size\na,0,2," + huge + "\nb,1,3," + huge + "\n").code, 0);
  EXPECT_EQ(check("--capacity 2305843009213693952").code, 0);
}

TEST_F(ToolsOffsets, RefusesBadInputWithItsLine) {
  const std::string head = "id,lower,upper,size\na,0,2,10\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "line 1: the file is empty, expected the header id,lower,upper,size."},
      {"id,lower,upper\na,0,2\n", "line 1: no column \"size\""},
      {"id,lower,upper,size,alignment\na,0,2,4,8\n", "line 1: column \"alignment\""},
      {"id,lower,upper,size,size\na,0,2,4,8\n", "line 1: column \"size\""},
      {head + "b,1,3\n", "line 3: 3 values, expected 4 as in the header."},
      {head + "b,1,3,4,5\n", "line 3: 5 values"},
      {head + "b,1,3,4x\n", "line 3: size is \"4x\", expected a whole number."},
      {head + "b,1,3,\n", "line 3: size is \"\", expected a whole number."},
      {head + "b,1.5,3,4\n", "line 3: lower is \"1.5\", expected a whole number."},
      {head + "b,1,3,9223372036854775808\n", "expected a number below 2^63."},
      {head + "b,1,3,-4\n", "line 3: the size of b is -4, expected 0 or more bytes."},
      {head + "b,3,1,4\n", "line 3: the lifetime of b goes from 3 to 1, expected an upper above"},
      {head + "b,3,3,4\n", "line 3: the lifetime of b goes from 3 to 3"},
      {head + "a,3,4,4\n", "line 3: id a was given on line 2, expected each id once."},
      {head + ",3,4,4\n", "line 3: the id is empty"},
      {head + "b,0,1,9223372036854775800\n",
       "line 3: with the size of b, 9223372036854775800, the"},
  };
  for (const auto& [csv, words] : cases) {
    const Outcome outcome = place(csv, "--capacity 100");
    EXPECT_EQ(outcome.code, 2) << csv << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << csv << outcome.output;
    EXPECT_FALSE(fs::exists(path("out.csv"))) << csv;
  }
}

TEST_F(ToolsOffsets, RefusesBadOptions) {
  write("in.csv", "id,lower,upper,size\na,0,2,10\n");
  const std::string in = "place_offsets --input " + path("in.csv") + " --output ";
  const std::pair<std::string, std::string> cases[] = {
      {"place_offsets --input " + path("none.csv") + " --output " + path("o"), "cannot be read"},
      {"place_offsets --input " + folder_.string() + " --output " + path("o"), "cannot be read"},
      {in + path("none/out.csv"), "--output: the file cannot be written"},
      {in + folder_.string(), "--output: it is there and no regular file"},
      {in + path("o") + " --capacity -1", "--capacity"},
      {in + path("o") + " --seconds 0", "--seconds"},
      {in + path("o") + " --threads -1", "--threads"},
      {in + path("o") + " --threads two", "--threads"},
      {"place_offsets --input " + path("in.csv"), "--output is required"},
  };
  for (const auto& [command, words] : cases) {
    const Outcome outcome = examples::run(command);
    EXPECT_EQ(outcome.code, 2) << command << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << command << outcome.output;
  }
  EXPECT_EQ(examples::run("place_offsets --help").code, 0);
}

TEST_F(ToolsOffsets, WritesNothingWhenThereIsNoPlacement) {
  const std::string csv =
      "id,lower,upper,size\na,0,2,1\nb,1,4,1\nc,3,6,1\nd,0,1,2\ne,5,6,2\nf,2,3,2\n";
  write("out.csv", "what was there");
  const Outcome low = place(csv, "--capacity 2");
  EXPECT_EQ(low.code, 1);
  EXPECT_NE(low.output.find("impossible: 3 bytes are alive at one moment"), std::string::npos)
      << low.output;
  EXPECT_EQ(read(path("out.csv")), "what was there");

  const std::vector<Box> boxes = cut_rectangle(1, 300, 300, 1000);
  std::string hard = "id,lower,upper,size\n";
  for (size_t i = 0; i < boxes.size(); ++i)
    hard += std::to_string(i) + "," + std::to_string(boxes[i].begin) + "," +
            std::to_string(boxes[i].end) + "," + std::to_string(boxes[i].bytes) + "\n";
  const Outcome late = place(hard, "--capacity 1000 --seconds 0.01 --threads 2");
  EXPECT_EQ(late.code, 1) << late.output;
  EXPECT_NE(late.output.find("unknown: no placement within 1000 was found in 0.01 s"),
            std::string::npos)
      << late.output;
  EXPECT_EQ(read(path("out.csv")), "what was there");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2)
      << "a temporary file was left";

  const Outcome best = place(hard, "--minimize --seconds 0.1");
  EXPECT_EQ(best.code, 0) << best.output;
  EXPECT_EQ(check().code, 0);
}

}  // namespace
}  // namespace plimsoll
