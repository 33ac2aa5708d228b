#include "train/ranks/group.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/ranks/planned_ranks.h"

namespace plimsoll::train {
namespace {

// A fact as it is compared: all of it by its hash, and its beginning for people.
struct Told {
  uint64_t hash = 0;
  std::array<char, 56> text{};

  Told() = default;
  explicit Told(const std::string& value) : hash(fnv1a(value)) {
    std::copy_n(value.begin(), std::min(value.size(), text.size() - 1), text.begin());
  }
};

void check_same(const std::string& name, const std::vector<Told>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank)
    check<UsageError>(all[rank].hash == all[0].hash, "train: the ranks differ in ", name,
                      ": rank 0 has ", all[0].text.data(), ", rank ", rank, " has ",
                      all[rank].text.data(), ". Start all of them with the same.");
}

// `own` of each rank, in their order.
std::vector<std::string> texts_of(Ranks& ranks, const std::string& own) {
  const std::vector<size_t> sizes = gathered(ranks, own.size());
  std::vector<char> padded(own.begin(), own.end());
  padded.resize(std::ranges::max(sizes));
  const std::vector<char> all = gathered(ranks, padded);
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    texts.emplace_back(all.data() + rank * padded.size(), sizes[rank]);
  return texts;
}

// A fact that only some have is another build's, or another kind of data's.
void check_names(const std::vector<std::string>& names) {
  for (size_t rank = 1; rank < names.size(); ++rank)
    for (const auto& [has, has_not] : {std::pair(size_t{0}, rank), {rank, size_t{0}}}) {
      std::istringstream lines(names[has]);
      for (std::string name; std::getline(lines, name);)
        check<UsageError>(("\n" + names[has_not]).find("\n" + name + "\n") != std::string::npos,
                          "train: the ranks differ in what they know of the training: rank ", has,
                          " has ", name, ", rank ", has_not,
                          " knows nothing of it. Start all of them with the same program, options "
                          "and kind of data.");
    }
}

}  // namespace

RankGroup::RankGroup(const TrainOptions& options) {
  check<UsageError>(options.ranks >= 0, "train: there is no such number of ranks: ", options.ranks,
                    ". Use 1 or more.");
  check<UsageError>(
      options.shard >= 0 && options.shard <= 3,
      "train: there is no such stage of sharding: ", options.shard,
      ". Use 1 for the optimizer's state, 2 for gradients too, 3 for parameters too.");
  check<UsageError>(options.shard == 0 || options.ranks > 0, "train: stage ", options.shard,
                    " shares things out among ranks, and there are none. Say how many ranks.");
  for (const auto& [asked, what] :
       {std::pair(options.prune > 0, "pruning looks"), {options.histograms > 0, "histograms look"}})
    check<UsageError>(!asked || options.shard < 3, "train: ", what,
                      " at whole parameters, of which a rank has parts: stage ", options.shard,
                      ". Use stage 2, or leave it out.");
  Ranks* const here = Ranks::current();
  check<UsageError>(options.ranks > 0 || !here || here->size() == 1, "train: here are ",
                    here ? here->size() : 1, " ranks, and none are asked for. Set ",
                    "TrainOptions::ranks.");
  if (options.ranks == 0) return;
  if (here && here->size() == options.ranks) {
    ranks_ = here;
    return;
  }
  check<UsageError>(!here && (options.plan_only || options.ranks == 1), "train: ", options.ranks,
                    " ranks are asked for, and here are ", here ? here->size() : 1,
                    ". Start as many processes with mpirun -n ", options.ranks, ".");
  planned_ = std::make_unique<PlannedRanks>(0, options.ranks);
  ranks_ = planned_.get();
}

TrainOptions RankGroup::own(TrainOptions options) const {
  if (size() > 1) options.planning.costs = CostModel::model;
  if (first()) return options;
  for (std::string* file : {&options.run, &options.config, &options.tensorboard, &options.report,
                            &options.snapshot, &options.trace})
    file->clear();
  return options;
}

// Ranks of other versions may have other facts, so their names come first.
void RankGroup::agree(const Facts& facts) const {
  if (size() == 1) return;
  std::string names;
  for (const auto& [name, value] : facts) names += name + "\n";
  check_names(texts_of(*ranks_, names));
  std::vector<Told> own;
  for (const auto& [name, value] : facts) own.emplace_back(value);
  const std::vector<Told> all = gathered(*ranks_, own);
  for (size_t i = 0; i < facts.size(); ++i) {
    std::vector<Told> of_each;
    for (size_t rank = 0; rank < all.size() / facts.size(); ++rank)
      of_each.push_back(all[rank * facts.size() + i]);
    check_same(facts[i].first, of_each);
  }
}

bool RankGroup::any(bool here) const {
  if (size() == 1) return here;
  return std::ranges::count(gathered(*ranks_, static_cast<int64_t>(here)), 0) < size();
}

std::string RankGroup::from_first(const std::string& text) const {
  if (size() == 1) return text;
  auto bytes = static_cast<int64_t>(text.size());
  ranks_->broadcast(&bytes, sizeof bytes, 0);
  std::string said = text;
  said.resize(static_cast<size_t>(bytes));
  ranks_->broadcast(said.data(), bytes, 0);
  return said;
}

std::pair<int64_t, int64_t> RankGroup::share(int64_t count) const {
  if (!ranks_) return {0, count};
  return {count * ranks_->rank() / size(), count * (ranks_->rank() + 1) / size()};
}

std::vector<double> RankGroup::in_order(std::vector<double> own, int64_t count,
                                        int64_t width) const {
  if (size() == 1) return own;
  const int64_t most = (count + size() - 1) / size();
  own.resize(static_cast<size_t>(most * width));
  const std::vector<double> padded = gathered(*ranks_, own);
  std::vector<double> all;
  for (int64_t rank = 0; rank < size(); ++rank) {
    const auto first = padded.begin() + rank * most * width;
    const int64_t here = count * (rank + 1) / size() - count * rank / size();
    all.insert(all.end(), first, first + here * width);
  }
  return all;
}

}  // namespace plimsoll::train
