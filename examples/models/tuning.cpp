#include "examples/models/tuning.h"

#include "examples/common/checks.h"

namespace plimsoll::examples {

std::optional<Quantisation> quantisation_named(const std::string& name) {
  for (const Quantisation kind : {Quantisation::int8, Quantisation::nf4})
    if (name == plimsoll::name_of(kind)) return kind;
  return {};
}

DType Tuning::base_type() const { return base == "f32" || !config ? DType::f32 : config->dtype; }

void add_tuning_options(CommandLine& app, Tuning& tuning) {
  app.group("Adapters");
  app.add_option("--lora", tuning.rank,
                 "Rank of adapters, which alone are trained; 0: all weights are")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--lora-alpha", tuning.alpha, "They are scaled by alpha / rank [twice the rank]")
      ->check(positive_number());
  app.add_option("--lora-dropout", tuning.dropout, "Dropout of what goes into them")
      ->check(probability())
      ->capture_default_str();
  app.add_flag("--lora-stabilised", tuning.rank_stabilised, "Scaled by alpha / sqrt(rank)");
  app.add_option("--lora-targets", tuning.targets,
                 "Names of the matrices that have one, or all-linear")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--base", tuning.base,
                 "Type of frozen weights: as they lie in the file, which is mapped, or f32; or of "
                 "the layers' matrices int8 or nf4")
      ->check(one_of({"file", "f32", "int8", "nf4"}))
      ->capture_default_str();
}

namespace {

// A run's config lists defaults too, so it is values that count.
void check_adapters(const Tuning& tuning) {
  const std::pair<const char*, bool> given[] = {
      {"--lora-alpha", tuning.alpha != Tuning{}.alpha},
      {"--lora-dropout", tuning.dropout != Tuning{}.dropout},
      {"--lora-stabilised", tuning.rank_stabilised},
      {"--lora-targets", tuning.targets != Tuning{}.targets},
      {"--base", tuning.base != Tuning{}.base}};
  for (const auto& [name, is_given] : given)
    check<UsageError>(tuning.rank > 0 || !is_given, name,
                      ": it is for adapters, and all weights are trained. Say --lora with their "
                      "rank, or leave it out.");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> facts_of(const Tuning& tuning) {
  std::string targets;
  for (const std::string& target : tuning.targets) targets += (targets.empty() ? "" : ",") + target;
  return {{"rank", cat(tuning.rank)},
          {"alpha", cat(tuning.alpha)},
          {"dropout of adapters", cat(tuning.dropout)},
          {"rank-stabilised", tuning.rank_stabilised ? "yes" : "no"},
          {"targets", targets},
          {"type of frozen weights", tuning.base}};
}

nn::DecoderOptions decoder_options(const Tuning& tuning, int64_t context) {
  check_adapters(tuning);
  nn::DecoderOptions options{.trained = tuning.rank == 0,
                             .converted = tuning.base == "f32",
                             .quantised = quantisation_named(tuning.base),
                             .context = context,
                             .logits = false};
  if (tuning.rank > 0)
    options.lora = nn::LoraOptions{
        .rank = tuning.rank,
        .alpha = tuning.alpha > 0 ? tuning.alpha : 2 * static_cast<double>(tuning.rank),
        .dropout = tuning.dropout,
        .rank_stabilised = tuning.rank_stabilised,
        .targets = tuning.targets};
  return options;
}

}  // namespace plimsoll::examples
