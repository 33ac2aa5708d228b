// Sets of safetensors files: what lies where, and sets that do not fit together.
#include "formats/shards.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/data/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;
using nlohmann::json;

NamedTensor named(const std::string& name, float value) {
  return {name, Tensor::of<float>({value, value + 1}, {2})};
}

// Two files with an index. `change` gets the folder and the weight map before it is written.
template <class F>
fs::path set_with(const TemporaryFolder& dir, const F& change) {
  const fs::path folder = dir / "set";
  fs::create_directories(folder);
  const std::vector<NamedTensor> first{named("a", 1), named("b", 2)}, second{named("c", 3)};
  json map{{"a", "one.safetensors"}, {"b", "one.safetensors"}, {"c", "two.safetensors"}};
  write_safetensors(folder / "one.safetensors", first);
  write_safetensors(folder / "two.safetensors", second);
  change(folder, map);
  std::ofstream(folder / Shards::kIndex) << json{{"weight_map", map}};
  return folder;
}

fs::path set(const TemporaryFolder& dir) {
  return set_with(dir, [](const fs::path&, json&) {});
}

std::string refusal(const fs::path& path) {
  return error_of<DataError>([&] { Shards shards(path); });
}

TEST(Shards, ReadAFolderAnIndexOrAFile) {
  const TemporaryFolder dir;
  const fs::path folder = set(dir);
  for (const fs::path& path : {folder, folder / Shards::kIndex}) {
    const Shards shards(path);
    EXPECT_EQ(shards.files().size(), 2U);
    EXPECT_EQ(shards.names(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(shards.tensor("c").to_vector<float>(), (std::vector<float>{3, 4}));
    EXPECT_EQ(shards.file_name("c"), (folder / "two.safetensors").string());
    EXPECT_EQ(error_of<DataError>([&] { shards.tensor("d"); }),
              "safetensors: there is no \"d\" in " + (folder / Shards::kIndex).string() +
                  ". Use the files that belong to this model.");
  }
  const Shards one(folder / "two.safetensors");
  EXPECT_EQ(one.names(), std::vector<std::string>{"c"});
  const std::string missing = error_of<DataError>([&] { one.tensor("a"); });
  EXPECT_NE(missing.find("in " + (folder / "two.safetensors").string() + "."), missing.npos)
      << missing;
}

TEST(Shards, AnIndexIsReadAsItWasWritten) {
  const std::map<std::string, std::string> files{{"a", "x.safetensors"}, {"b", "y.safetensors"}};
  const std::string text = index_text(files, 12);
  EXPECT_EQ(json::parse(text)["metadata"]["total_size"], 12);
  EXPECT_EQ(parse_index(text, "f"), files);
}

TEST(Shards, SetsThatDoNotFitAreRefused) {
  const TemporaryFolder dir;
  const fs::path folder = dir / "set";
  const std::string index = (folder / Shards::kIndex).string(),
                    one = (folder / "one.safetensors").string(),
                    two = (folder / "two.safetensors").string(),
                    of_one_version = ". Bring back the files of one version.";
  EXPECT_EQ(
      refusal(set_with(dir, [](const fs::path& f, json&) { fs::remove(f / "two.safetensors"); })),
      "safetensors: a shard is missing: " + two + ", which the index names for \"c\"" +
          of_one_version);
  EXPECT_EQ(refusal(set_with(dir, [](const fs::path&, json& map) { map["c"] = map["a"]; })),
            "safetensors: a shard has not got what the index says: " + one + " for \"c\"" +
                of_one_version);
  EXPECT_EQ(refusal(set_with(dir, [](const fs::path&, json& map) { map.erase("b"); })),
            "safetensors: a tensor is not in the index: \"b\" of " + one + " in " + index +
                of_one_version);
  EXPECT_EQ(
      refusal(set_with(
          dir,
          [](const fs::path& f, json&) {
            write_safetensors(f / "two.safetensors", std::vector{named("a", 1), named("c", 3)});
          })),
      "safetensors: a tensor is in two shards: \"a\" in " + one + " and " + two + of_one_version);
  for (const json& elsewhere : {json("../set/one.safetensors"), json("."), json(".."), json(""),
                                json("/one.safetensors"), json(1), json()})
    EXPECT_EQ(refusal(set_with(dir, [&](const fs::path&, json& map) { map["a"] = elsewhere; })),
              "safetensors: the index does not name a file beside it: " + index +
                  " for \"a\". Use the file as it was written.");
  EXPECT_EQ(
      refusal(set_with(dir, [](const fs::path&, json& map) { map = json::object(); })),
      "safetensors: the index has no weight_map: " + index + ". Use the file as it was written.");
  const std::string cut = refusal(set_with(dir, [](const fs::path& f, json&) {
    fs::resize_file(f / "two.safetensors", fs::file_size(f / "two.safetensors") - 4);
  }));
  EXPECT_TRUE(cut.starts_with("safetensors: ")) << cut;
  EXPECT_NE(cut.find("two.safetensors"), cut.npos) << cut;
  fs::remove(index);
  EXPECT_EQ(refusal(folder), "safetensors: there are no weights: " + folder.string() +
                                 " has neither model.safetensors nor "
                                 "model.safetensors.index.json. Fetch them, or convert other "
                                 "files to safetensors.");
}

}  // namespace
}  // namespace plimsoll::formats
