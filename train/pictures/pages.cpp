#include "train/pictures/pages.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "comparison_page_html.h"
#include "memory_page_html.h"
#include "mistakes_page_html.h"
#include "train/pictures/page.h"

namespace plimsoll::train {
namespace {

constexpr size_t kRowsOfTable = 13;

std::string percent(double part, double whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

Json json_of(const Rectangle& r) {
  return {{"buffer", r.buffer},
          {"in_arena", r.in_arena()},
          {"offset", r.offset},
          {"bytes", r.bytes},
          {"begin", r.begin},
          {"end", r.end},
          {"class", name_of(r.memory_class)},
          {"module", r.module ? *r.module : ""},
          {"shape", cat(r.meta.dtype, " ", r.meta.shape)}};
}

// Bytes at one instant.
int64_t sum(const BytesByClass& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

Json json_of(const Drawn& run) {
  Json ops = Json::array();
  for (size_t i = 0; i < run.timeline.ops.size(); ++i) ops.push_back(run.timeline.name(i));
  Json flights = Json::array();
  for (const Flight& flight : run.timeline.flights)
    flights.push_back({{"begin", flight.begin}, {"end", flight.end}, {"bytes", flight.bytes}});
  const Recompute& again = run.plan.recompute;
  std::string about = "bytes alive while each instruction runs";
  if (again.repetitions > 0)
    about = cat(again.repetitions, " instructions run again, +",
                percent(again.added_seconds, again.step_seconds), " time");
  return {{"name", run.name},
          {"about", about},
          {"peak", run.plan.peak_instruction},
          {"ops", ops},
          {"live", run.timeline.live},
          {"flights", flights}};
}

// The figures above the charts: what it is, how much, and a remark.
Json tiles(const Plan& plan) {
  const int64_t alive = plan.total_bytes() - plan.arena_bytes - plan.result_bytes;
  Json tiles = {{"held by the step", bytes_text(plan.total_bytes()),
                 cat(plan.total_bytes(), " bytes in all")},
                {"peak alive", bytes_text(alive + plan.lower_bound),
                 plan.peak_instruction < 0
                     ? std::string("nothing in the arena")
                     : cat("at instruction ", plan.peak_instruction, ", ", plan.peak_op)},
                {"arena", bytes_text(plan.arena_bytes),
                 plan.arena_bytes == plan.lower_bound
                     ? std::string("no placement is lower")
                     : cat(percent(static_cast<double>(plan.arena_bytes - plan.lower_bound),
                                   static_cast<double>(plan.lower_bound)),
                           " above the bound")},
                {"parameters, state, inputs", bytes_text(alive), "held all the time"},
                {"instructions", std::to_string(plan.instructions),
                 cat(plan.buffers, " buffers, ", plan.in_place, " in place")}};
  const Recompute& again = plan.recompute;
  if (again.budget > 0)
    tiles.push_back({"time added", percent(again.added_seconds, again.step_seconds),
                     cat(percent(again.repeated_seconds, again.step_seconds),
                         " runs again; no plan repeats less than ",
                         percent(again.least_repeated_seconds, again.step_seconds))});
  return tiles;
}

// In words: what holds the peak, and what lowers it by how much.
std::string caption(std::span<const Drawn> runs) {
  const auto& [name, plan, timeline] = runs.back();
  if (plan.peak_instruction < 0) return "";
  const auto instant = static_cast<size_t>(plan.peak_instruction);
  const BytesByClass& bytes = timeline.live[instant];
  const auto most = std::ranges::max_element(bytes);
  std::string text =
      cat("Most is held at instruction ", instant, ", ", plan.peak_op, ": ", bytes_text(sum(bytes)),
          ", of which ", percent(static_cast<double>(*most), static_cast<double>(sum(bytes))), " ",
          name_of(static_cast<MemoryClass>(most - bytes.begin())), ".");
  for (const int index : largest_at(timeline, plan.peak_instruction, timeline.rectangles.size())) {
    const Rectangle& r = timeline.rectangles[static_cast<size_t>(index)];
    if (!r.in_arena()) continue;
    text += cat(" The largest that is made in the step, ", bytes_text(r.bytes), ", is made by ",
                timeline.name(static_cast<size_t>(r.begin)), " and needed until ",
                timeline.name(static_cast<size_t>(r.end) - 1), ".");
    break;
  }
  if (runs.size() < 2) return text;
  const auto& [other_name, other, other_timeline] = runs.front();
  const auto share = [](int64_t less, int64_t of) {
    return percent(static_cast<double>(of - less), static_cast<double>(of));
  };
  if (plan.recompute.budget > 0)
    return text + cat(" Without recompute it holds ", bytes_text(other.total_bytes()),
                      ", within the budget ", bytes_text(plan.total_bytes()),
                      ", and the step takes ",
                      percent(plan.recompute.added_seconds, plan.recompute.step_seconds),
                      " longer.");
  return text + cat(" Within ", bytes_text(other.recompute.budget), " (", other.recompute.budget,
                    " bytes), the smallest budget that a short search finds, the step holds ",
                    share(other.total_bytes(), plan.total_bytes()), " less and takes ",
                    percent(other.recompute.added_seconds, other.recompute.step_seconds),
                    " longer, by a model of times.");
}

// RFC 4648.
std::string base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kDigits[three >> (18 - 6 * j) & 63];
  }
  return text;
}

}  // namespace

std::string page_with(std::string_view page, const Json& data) {
  const std::string_view mark = "@DATA@";
  const size_t at = page.find(mark);
  // It stands inside a script element: nothing in it may end the element.
  std::string json;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (c == '<')
      json += "\\u003c";
    else
      json += c;
  return cat(page.substr(0, at), json, page.substr(at + mark.size()));
}

std::string memory_page(const std::string& title, const std::string& about,
                        std::span<const Drawn> runs) {
  const auto& [name, plan, timeline] = runs.back();
  Json classes = Json::array(), drawn = Json::array(), rectangles = Json::array();
  for (int c = 0; c < kMemoryClasses; ++c) classes.push_back(name_of(static_cast<MemoryClass>(c)));
  for (const Drawn& run : runs) drawn.push_back(json_of(run));
  for (const Rectangle& rectangle : timeline.rectangles) rectangles.push_back(json_of(rectangle));

  return page_with(kMemoryPage,
                   {{"title", title},
                    {"about", about},
                    {"budget", plan.recompute.budget},
                    {"tiles", tiles(plan)},
                    {"caption", caption(runs)},
                    {"classes", classes},
                    {"runs", drawn},
                    {"arena_bytes", plan.arena_bytes},
                    {"rectangles", rectangles},
                    {"largest", largest_at(timeline, plan.peak_instruction, kRowsOfTable)}});
}

std::string comparison_page(const Json& rows, int steps) {
  return page_with(kComparisonPage, {{"steps", steps}, {"rows", rows}});
}

std::string mistakes_page(const std::string& title, const std::string& about,
                          const Confusion& confusion, const Score& score,
                          std::span<const PicturedMistake> mistakes) {
  Json matrix = Json::array(), shown = Json::array(), names = Json::array();
  for (int64_t label = 0; label < confusion.classes(); ++label) {
    Json row = Json::array();
    for (int64_t guess = 0; guess < confusion.classes(); ++guess)
      row.push_back(confusion.at(label, guess));
    matrix.push_back(std::move(row));
    names.push_back(confusion.name(label));
  }
  for (const auto& [mistake, png] : mistakes)
    shown.push_back({{"entry", mistake.image},
                     {"label", mistake.label},
                     {"guess", mistake.guess.label},
                     {"guess_probability", mistake.guess.probability},
                     {"probability", mistake.probability},
                     {"png", base64(png)}});
  const int64_t all = confusion.total(), wrong = all - confusion.right();
  const Json tiles = {
      {"accuracy", percent(static_cast<double>(all - wrong), static_cast<double>(all)),
       cat(all - wrong, " of ", all, " images are right")},
      {"mistakes", std::to_string(wrong), cat("the ", mistakes.size(), " worst are shown")},
      {"loss", cat(static_cast<float>(score.loss.value())), "mean over all images"}};
  return page_with(kMistakesPage, {{"title", title},
                                   {"about", about},
                                   {"tiles", tiles},
                                   {"names", names},
                                   {"confusion", matrix},
                                   {"mistakes", shown}});
}

}  // namespace plimsoll::train
