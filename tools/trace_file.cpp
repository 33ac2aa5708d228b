#include "tools/trace_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/error.h"

namespace plimsoll::tools {
namespace {

using recompute::Op;

constexpr int64_t kMostBytes = int64_t{1} << 60;  // of everything together
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr double kMostSeconds = 1e9;  // of one op

// What a name stands for.
struct Thing {
  int storage = -1;            // -1: an input
  bool over = false;           // nobody may read it any more
  std::vector<int> reads{};    // the ops that read it
  std::vector<int> changes{};  // the ops that write into it
};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {}

  OpTrace read() {
    std::ifstream file(path_);
    check<DataError>(file.good(), path_.string(), ": it cannot be read. Name a trace file.");
    for (std::string line; std::getline(file, line);) {
      if (++line_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
      words_.clear();
      std::istringstream text(line.substr(0, line.find('#')));
      for (std::string word; text >> word;) words_.push_back(word);
      if (!words_.empty()) statement();
    }
    check<DataError>(file.eof() && !file.bad(), path_.string(),
                     ": it cannot be read to its end. Give a file of text.");
    check<DataError>(!trace_.ops.empty(), path_.string(),
                     ": there is no op in it. Write lines `op NAME SECONDS ...`.");
    trace_.problem.ops.push_back({.reads = results_, .repeatable_before = 0});
    for (const Thing& thing : things_) forbid_across_changes(thing);
    return std::move(trace_);
  }

 private:
  template <class... Parts>
  void expect(bool ok, const Parts&... parts) const {
    check<DataError>(ok, path_.string(), ": line ", line_, ": ", parts...);
  }

  void statement() {
    const std::string& kind = words_[0];
    if (kind == "op") return op();
    const bool two = kind == "input" || kind == "alias";
    expect(two || kind == "last" || kind == "result", "`", kind,
           "` is no statement; expected op, input, alias, last or result");
    expect(words_.size() == (two ? 3U : 2U), "`", kind, "` is followed by ", words_.size() - 1,
           " words; expected ", two ? 2 : 1);
    if (kind == "input") {
      introduce(words_[1], -1);
      bytes(words_[2]);  // refuses what says no number
    } else if (kind == "alias") {
      const size_t target = find(words_[2]);
      expect(names_.try_emplace(words_[1], target).second, "`", words_[1],
             "` stands for something already; expected a new name");
    } else if (kind == "last") {
      things_[find(words_[1])].over = true;
    } else {
      const Thing& thing = things_[find(words_[1])];
      expect(!thing.over, "`", words_[1], "` is a result after its `last`; expected it before");
      if (thing.storage >= 0 && !std::ranges::count(results_, thing.storage))
        results_.push_back(thing.storage);
    }
  }

  // op NAME SECONDS, then words that each belong to the keyword before them.
  void op() {
    expect(words_.size() >= 3, "an op has a name and a time; expected `op NAME SECONDS ...`");
    Op op{.cost = seconds(words_[2])};
    const int number = static_cast<int>(trace_.problem.ops.size());
    std::string keyword, over;
    std::vector<std::string> written;
    size_t begun = 0;  // the place of the keyword
    const auto end_list = [&](size_t place) {
      const size_t words = place - begun - 1;
      const bool one = keyword == "workspace" || keyword == "over";
      expect(keyword.empty() || (words > 0 && (words == 1 || !one)), "`", keyword,
             "` is followed by ", words, " words; expected ", one ? "1" : "1 or more");
    };
    for (size_t i = 3; i < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (word == "reads" || word == "changes" || word == "writes" || word == "over" ||
          word == "workspace") {
        end_list(i);
        keyword = word;
        begun = i;
      } else if (keyword == "reads" || keyword == "changes") {
        Thing& thing = things_[find(word)];
        expect(!thing.over, "`", word, "` is read after its `last`; expected it before");
        (keyword == "reads" ? thing.reads : thing.changes).push_back(number);
        if (keyword == "changes") op.repeatable_before = 0;
        if (thing.storage >= 0 && !std::ranges::count(op.reads, thing.storage))
          op.reads.push_back(thing.storage);
      } else if (keyword == "writes") {
        written.push_back(word);
      } else if (keyword == "workspace") {
        op.workspace = bytes(word);
      } else if (keyword == "over") {
        over = word;
      } else {
        expect(false, "`", word,
               "` follows no keyword; expected reads, writes, changes, over or workspace");
      }
    }
    end_list(words_.size());
    for (const std::string& word : written) op.writes.push_back(make(word));
    if (!over.empty()) op.takes_over = taken_over(op, over);
    trace_.ops.push_back(words_[1]);
    trace_.problem.ops.push_back(std::move(op));
  }

  // NAME:BYTES, a storage that the op makes.
  int make(const std::string& word) {
    const size_t colon = word.rfind(':');
    expect(colon != std::string::npos && colon > 0, "`", word,
           "` has no size; expected NAME:BYTES");
    const int storage = static_cast<int>(trace_.storages.size());
    introduce(word.substr(0, colon), storage);
    trace_.storages.push_back(word.substr(0, colon));
    trace_.problem.storages.push_back({.bytes = bytes(word.substr(colon + 1))});
    return storage;
  }

  int taken_over(const Op& op, const std::string& word) const {
    const int storage = things_[find(word)].storage;
    expect(std::ranges::count(op.reads, storage) && !op.writes.empty(),
           "the op cannot write over `", word,
           "`; expected something it reads, and something it writes");
    const auto size = [&](int s) { return trace_.problem.storages[s].bytes; };
    expect(size(storage) == size(op.writes[0]), "`", word, "` has ", size(storage),
           " bytes; expected the ", size(op.writes[0]), " of what is written over it");
    return storage;
  }

  void introduce(const std::string& name, int storage) {
    expect(names_.try_emplace(name, things_.size()).second, "`", name,
           "` stands for something already; expected a new name");
    things_.push_back({.storage = storage});
  }

  size_t find(const std::string& name) const {
    const auto found = names_.find(name);
    expect(found != names_.end(), "`", name,
           "` is not known; expected an input or what an op before has written");
    return found->second;
  }

  int64_t bytes(const std::string& word) {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    expect(error == std::errc{} && stop == word.data() + word.size() && value >= 0, "`", word,
           "` is no number of bytes; expected a whole number from 0");
    expect(value <= kMostBytes - all_bytes_, "all sizes together pass ", kMostBytes,
           " bytes; expected less");
    all_bytes_ += value;
    return value;
  }

  double seconds(const std::string& word) const {
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    expect(error == std::errc{} && stop == word.data() + word.size() && std::isfinite(value) &&
               value >= 0 && value <= kMostSeconds,
           "`", word, "` is no time; expected seconds from 0 to ", kMostSeconds);
    return value;
  }

  // An op that reads what is changed later runs again only before that, and running the maker of
  // what was changed would not be enough.
  void forbid_across_changes(const Thing& thing) {
    if (!thing.changes.empty() && thing.storage >= 0)
      trace_.problem.storages[thing.storage].evictable = false;
    for (const int reader : thing.reads) {
      const auto change = std::ranges::upper_bound(thing.changes, reader);
      int& limit = trace_.problem.ops[reader].repeatable_before;
      if (change != thing.changes.end()) limit = std::min(limit, *change);
    }
  }

  std::filesystem::path path_;
  int line_ = 0;
  std::vector<std::string> words_;
  std::map<std::string, size_t> names_;
  std::vector<Thing> things_;
  std::vector<int> results_;
  int64_t all_bytes_ = 0;
  OpTrace trace_;
};

}  // namespace

OpTrace read_trace(const std::filesystem::path& path) { return Reader(path).read(); }

}  // namespace plimsoll::tools
