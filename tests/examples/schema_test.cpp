// What --trace and --snapshot write, held against schemas of the published formats by Python's
// validator.
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/support/python.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using Json = nlohmann::json;

// What the validator says of each file: "valid", or what is wrong.
std::map<std::string, std::string> validate(const std::string& schema,
                                            const std::vector<std::string>& files) {
  std::vector<std::string> words{PLIMSOLL_SOURCE_DIR "/tests/" + schema};
  words.insert(words.end(), files.begin(), files.end());
  const Outcome outcome = python::run("support/validate_json.py", words);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  std::map<std::string, std::string> verdicts;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);)
    verdicts[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  EXPECT_EQ(verdicts.size(), files.size()) << outcome.output;
  return verdicts;
}

// Things a writer could get wrong, each done to a document that is valid: all have to be found.
using Change = std::function<void(Json&)>;
void expect_refused(const std::string& schema, const std::string& file,
                    const std::map<std::string, Change>& changes) {
  const TemporaryFolder dir;
  const Json good = Json::parse(data::read_text(file));
  std::vector<std::string> files;
  for (const auto& [name, change] : changes) {
    Json bad = good;
    change(bad);
    ASSERT_NE(bad, good) << name;
    files.push_back(dir.write(name, bad.dump()).string());
  }
  for (const auto& [name, verdict] : validate(schema, files)) EXPECT_NE(verdict, "valid") << name;
}

// The first event of a phase.
Json& event(Json& trace, const std::string& phase) {
  for (Json& event : trace["traceEvents"])
    if (event["ph"] == phase) return event;
  throw std::out_of_range(phase);
}

class ExamplesSchema : public testing::Test {
 protected:
  std::string write(const std::string& options, const std::string& name) const {
    const Outcome outcome = run(options + dir.text(name));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return dir.text(name);
  }
  std::string text() const {
    return " --data text:" + dir.write("text", small_text()).string() + " ";
  }
  TemporaryFolder dir;
  const std::string gpt =
      "train_transformer --layers 2 --width 32 --context 16 --cost model --plan-seconds 0.2" +
      text();
};

TEST_F(ExamplesSchema, ATraceIsOfTheTraceEventFormat) {
  NEEDS_PYTHON("jsonschema");
  const std::string kept = write(gpt + "--plan-only --trace ", "gpt.json");
  const std::string measured = write("train_cnn --plan-only --trace ", "cnn.json");
  const std::string again = write(gpt + "--plan-only --budget 2MiB --trace ", "budget.json");
  for (const auto& [file, verdict] :
       validate("examples/references/trace.schema.json", {kept, measured, again}))
    EXPECT_EQ(verdict, "valid") << file;
  expect_refused("examples/references/trace.schema.json", kept,
                 {{"no_events", [](Json& trace) { trace["traceEvents"].clear(); }},
                  {"other_key", [](Json& trace) { trace["events"] = 1; }},
                  {"other_unit", [](Json& trace) { trace["displayTimeUnit"] = "us"; }},
                  {"other_phase", [](Json& trace) { event(trace, "X")["ph"] = "Z"; }},
                  {"no_phase", [](Json& trace) { event(trace, "C").erase("ph"); }},
                  {"no_duration", [](Json& trace) { event(trace, "X").erase("dur"); }},
                  {"not_a_number", [](Json& trace) { event(trace, "X")["dur"] = nullptr; }},
                  {"before_0", [](Json& trace) { event(trace, "C")["ts"] = -1; }},
                  {"no_process", [](Json& trace) { event(trace, "X").erase("pid"); }},
                  {"no_name", [](Json& trace) { event(trace, "X")["name"] = ""; }},
                  {"misspelt", [](Json& trace) { event(trace, "X")["duration"] = 1; }},
                  {"no_series", [](Json& trace) { event(trace, "C")["args"].clear(); }},
                  {"words", [](Json& trace) { event(trace, "C")["args"]["arena"] = "1"; }},
                  {"nameless",
                   [](Json& trace) {
                     event(trace, "M")["args"] = {{"labels", "a"}};
                   }},
                  {"metadata", [](Json& trace) { event(trace, "M")["name"] = "process"; }}});
}

TEST_F(ExamplesSchema, ASnapshotIsOfMemoryVizsForm) {
  NEEDS_PYTHON("jsonschema");
  const std::string planned = write(gpt + "--plan-only --snapshot ", "gpt.json");
  const std::string pickle = write(gpt + "--plan-only --snapshot ", "gpt.pickle");
  const std::string eager = write(gpt + "--mode eager --steps 3 --snapshot ", "eager.json");
  for (const auto& [file, verdict] :
       validate("examples/references/snapshot.schema.json", {planned, pickle, eager}))
    EXPECT_EQ(verdict, "valid") << file;
  const auto block = [](Json& snapshot) -> Json& { return snapshot["segments"][0]["blocks"][0]; };
  const auto entry = [](Json& snapshot) -> Json& { return snapshot["device_traces"][0][0]; };
  expect_refused("examples/references/snapshot.schema.json", planned,
                 {{"no_traces", [](Json& snapshot) { snapshot.erase("device_traces"); }},
                  {"other_key", [](Json& snapshot) { snapshot["blocks"] = 1; }},
                  {"no_blocks", [](Json& snapshot) { snapshot["segments"][0]["blocks"].clear(); }},
                  {"other_state", [&](Json& snapshot) { block(snapshot)["state"] = "active"; }},
                  {"no_size", [&](Json& snapshot) { block(snapshot).erase("size"); }},
                  {"too_far", [&](Json& snapshot) { entry(snapshot)["addr"] = int64_t{1} << 54; }},
                  {"other_action", [&](Json& snapshot) { entry(snapshot)["action"] = "free"; }},
                  {"half_bytes", [&](Json& snapshot) { entry(snapshot)["size"] = 0.5; }},
                  {"no_frames", [&](Json& snapshot) { entry(snapshot)["frames"] = nullptr; }}});
}

}  // namespace
}  // namespace plimsoll::examples
