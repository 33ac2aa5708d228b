// check_trace: replays a plan of plan_trace against its trace, sharing no code with the planner.
//
//   check_trace --input step.trace --plan step.plan --budget-ratio 0.5
//
// Every op must run, in the order of the trace; what it reads must be there with the contents the
// trace gave it; results must be there at the end. Says the most bytes alive and the added time.
// Exit code: 0 the plan is right and within the budget; 1 it is not; 2 bad input.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/common/command_line.h"

namespace {

using Lines = std::vector<std::vector<std::string>>;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Lines words_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": it cannot be read. Name a file of text.");
  Lines lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line.substr(0, line.find('#')));
    lines.emplace_back();
    for (std::string word; text >> word;) lines.back().push_back(word);
  }
  if (file.bad() || !file.eof())
    throw std::runtime_error(path + ": reading failed. Name a file of text.");
  return lines;
}

struct Op {
  std::string name;
  double seconds = 0;
  int64_t workspace = 0;
  std::vector<std::string> reads{}, changes{}, writes{};
  std::string over{};
};

// The trace, names resolved to what they are other names of.
struct Trace {
  std::vector<Op> ops;
  std::map<std::string, std::string> root;
  std::map<std::string, int64_t> bytes;         // of what ops write
  int64_t all = 0;                              // bytes of all sizes
  std::set<std::string> inputs, results, over;  // over: nobody reads it any more

  explicit Trace(const Lines& lines) {
    for (size_t n = 0; n < lines.size(); ++n) {
      try {
        if (!lines[n].empty()) statement(lines[n]);
      } catch (const std::exception&) {
        throw std::runtime_error("line " + std::to_string(n + 1) +
                                 " of the trace is no statement.");
      }
    }
    if (ops.empty()) throw std::runtime_error("there is no op in the trace.");
  }

  void statement(const std::vector<std::string>& words) {
    if (words[0] == "input") {
      inputs.insert(words.at(1));
      root[words[1]] = words[1];
    } else if (words[0] == "alias") {
      root[words.at(1)] = root.at(words.at(2));
    } else if (words[0] == "result") {
      results.insert(readable(words.at(1)));
    } else if (words[0] == "last") {
      over.insert(root.at(words.at(1)));
    } else if (words[0] == "op") {
      Op op{.name = words.at(1), .seconds = time(words.at(2))};
      std::string list;
      for (size_t i = 3; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "reads" || word == "changes" || word == "writes" || word == "over" ||
            word == "workspace")
          list = word;
        else if (list == "writes") {
          const std::string name = word.substr(0, word.rfind(':'));
          root[name] = name;
          bytes[name] = size(word.substr(word.rfind(':') + 1));
          op.writes.push_back(name);
        } else if (list == "workspace")
          op.workspace = size(word);
        else if (list == "over")
          op.over = root.at(word);
        else
          (list == "reads" ? op.reads : op.changes).push_back(readable(word));
      }
      if (!op.over.empty() && (std::count(op.reads.begin(), op.reads.end(), op.over) == 0 ||
                               bytes.at(op.over) != bytes.at(op.writes.at(0))))
        throw Wrong("");
      ops.push_back(op);
    } else {
      throw Wrong("");
    }
  }

  std::string readable(const std::string& name) const {
    if (over.count(root.at(name))) throw Wrong("");
    return root.at(name);
  }

  static double time(const std::string& word) {
    size_t end = 0;
    const double seconds = std::stod(word, &end);
    if (end != word.size() || !(seconds >= 0) || std::isinf(seconds)) throw Wrong("");
    return seconds;
  }

  // All of them together stay below 2^62, so that no sum of a replay passes 2^63.
  int64_t size(const std::string& word) {
    const int64_t value = number(word);
    if (value >= (int64_t{1} << 62) - all) throw Wrong("");
    all += value;
    return value;
  }

  static int64_t number(const std::string& word) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) throw Wrong("");
    return std::stoll(word);
  }
};

// What a storage must hold for an op to mean the same as in the trace: how often it was changed.
using Versions = std::map<std::string, int>;

class Replay {
 public:
  Replay(const Trace& trace, const Lines& plan) : trace_(trace) {
    for (const Op& op : trace.ops) {  // what each op saw when the trace was made
      Versions seen;
      for (const auto* names : {&op.reads, &op.changes})
        for (const std::string& name : *names) seen[name] = changes_[name];
      seen_.push_back(seen);
      for (const std::string& name : op.changes) ++changes_[name];
    }
    const Versions final = changes_;
    changes_.clear();
    for (size_t n = 0; n < plan.size(); ++n) {
      if (plan[n].empty()) continue;
      line_ = n + 1;
      if (plan[n].size() != 2) wrong("it is not two words");
      if (plan[n][0] == "run")
        first(plan[n][1]);
      else if (plan[n][0] == "again")
        repeat(plan[n][1]);
      else if (plan[n][0] == "free")
        release(plan[n][1]);
      else
        wrong("it is neither run, again nor free");
    }
    close();
    if (next_ != trace.ops.size()) wrong("op " + trace.ops[next_].name + " does not run");
    for (const std::string& name : trace.results) {
      if (!trace.inputs.count(name) && !there_.count(name))
        wrong("result " + name + " is not there");
      const auto wanted = final.find(name);
      if (wanted != final.end() && changes_[name] != wanted->second)
        wrong("result " + name + " has lost a change");
    }
  }

  int64_t peak = 0;
  double added = 0, total = 0;

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Wrong("line " + std::to_string(line_) + " of the plan: " + what + ".");
  }

  void first(const std::string& number) {
    if (number != std::to_string(next_) || next_ == trace_.ops.size())
      wrong("op " + number + " is not the next one");
    start(next_++, false);
  }

  void repeat(const std::string& number) {
    const bool digits = number.find_first_not_of("0123456789") == std::string::npos;
    const size_t i = digits && number.size() < 19 ? std::stoull(number) : next_;
    if (i >= next_ || std::to_string(i) != number) wrong("op " + number + " did not run before");
    start(i, true);
  }

  // The run before this one is over: only now is it known what was freed right after it, and so
  // whether its output lay over its input.
  void close() {
    if (!running_) return;
    const int64_t saved = written_over_ ? trace_.bytes.at(running_->over) : 0;
    peak = std::max(peak, during_ - saved);
    running_ = nullptr;
    written_over_ = false;
  }

  void start(size_t number, bool again) {
    close();
    const Op& op = trace_.ops[number];
    if (again && !op.changes.empty()) wrong(op.name + " changes something and runs twice");
    for (const auto& [name, version] : seen_[number]) {
      if (!trace_.inputs.count(name) && !there_.count(name)) wrong(op.name + " misses " + name);
      if (changes_[name] != version) wrong(op.name + " reads " + name + ", which has changed");
    }
    during_ = alive_ + op.workspace;
    for (const std::string& name : op.writes) {
      during_ += trace_.bytes.at(name);
      if (there_.insert(name).second) {
        alive_ += trace_.bytes.at(name);
        changes_[name] = 0;
      }
    }
    for (const std::string& name : op.changes) ++changes_[name];
    (again ? added : total) += op.seconds;
    running_ = &op;
  }

  void release(const std::string& name) {
    if (there_.erase(name) == 0) wrong("free " + name + ": it is not there");
    alive_ -= trace_.bytes.at(name);
    if (running_ && running_->over == name) written_over_ = true;
  }

  const Trace& trace_;
  std::vector<Versions> seen_;
  Versions changes_;
  std::set<std::string> there_;
  size_t next_ = 0, line_ = 0;
  int64_t alive_ = 0, during_ = 0;
  const Op* running_ = nullptr;
  bool written_over_ = false;
};

// The most bytes alive when everything is kept until its last use.
int64_t peak_when_kept(const Trace& trace) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    for (const auto* names : {&trace.ops[i].reads, &trace.ops[i].changes, &trace.ops[i].writes})
      for (const std::string& name : *names) last[name] = i;
  }
  for (const std::string& name : trace.results) last[name] = trace.ops.size();
  std::vector<int64_t> ending(trace.ops.size() + 1);  // bytes whose last use each op is
  for (const auto& [name, end] : last)
    if (trace.bytes.count(name)) ending[end] += trace.bytes.at(name);
  int64_t alive = 0, peak = 0;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    int64_t during = alive + op.workspace, written = 0;
    for (const std::string& name : op.writes) written += trace.bytes.at(name);
    during += written;
    if (!op.over.empty() && trace.bytes.count(op.over) && last[op.over] == i)
      during -= trace.bytes.at(op.over);
    peak = std::max(peak, during);
    alive += written - ending[i];
  }
  return peak;
}

}  // namespace

int main(int argc, char** argv) {
  std::string input, plan;
  double ratio = 0;
  plimsoll::examples::CommandLine app{"Replays a plan of plan_trace against its trace."};
  app.add_option("--input", input, "The trace")->required();
  app.add_option("--plan", plan, "The plan")->required();
  app.add_option("--budget-ratio", ratio, "Bytes allowed, of those that keeping all takes")
      ->required();
  try {
    app.parse(argc, argv);
    if (!(ratio >= 1e-9 && ratio <= 1))  // NaN is refused too
      throw std::runtime_error("--budget-ratio: not a number from 1e-9 to 1.");
    const Trace trace(words_of(input));
    const auto budget = static_cast<int64_t>(ratio * static_cast<double>(peak_when_kept(trace)));
    const Replay replay(trace, words_of(plan));
    std::cout << "peak " << replay.peak << " of " << budget << " bytes; added time " << replay.added
              << " s to " << replay.total << " s\n";
    return replay.peak <= budget ? 0 : 1;
  } catch (const plimsoll::examples::Exit& exit) {
    return exit.print();
  } catch (const Wrong& e) {
    std::cout << "wrong: " << e.what() << "\n";
    return 1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
