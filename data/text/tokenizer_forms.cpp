#include "data/text/tokenizer_forms.h"

#include <nlohmann/json.hpp>

namespace plimsoll::data {
namespace {

using Json = nlohmann::json;

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Without what says only where tokens lie in the text.
Json without_offsets(const Json& value) {
  Json rest = value;
  if (rest.is_object()) rest.erase("trim_offsets");
  if (rest.is_structured())
    for (Json& inner : rest) inner = without_offsets(inner);
  return rest;
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
}

Json split_by(const char* pattern) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", pattern}}},
             {"behavior", "Isolated"},
             {"invert", false}},
            byte_level(false)}}};
}

Json metaspace(const char* scheme) {
  return {{"type", "Metaspace"},
          {"replacement", kBlankMark},
          {"prepend_scheme", scheme},
          {"split", false}};
}

Json replaced(const char* from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

void take_normalizer(Json& section, BpeAttrs& attrs) {
  const Json nfc{{"type", "NFC"}};
  const Json marks{
      {"type", "Sequence"},
      {"normalizers", {{{"type", "Prepend"}, {"prepend", kBlankMark}}, replaced(" ", kBlankMark)}}};
  if (section == nfc ||
      section == Json{{"type", "Sequence"}, {"normalizers", Json::array({nfc})}}) {
    attrs.normalization.nfc = true;
  } else if (section == marks) {
    attrs.normalization = {.marks = true, .front = Front::always};
  } else {
    return;
  }
  section = nullptr;
}

void take_pre_tokenizer(Json& section, BpeAttrs& attrs) {
  const Json form = without_offsets(section);
  const Json digits{
      {"type", "Sequence"},
      {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)}}};
  TextNormalization& normalization = attrs.normalization;
  const auto put_marks = [&](Front front) {
    normalization = {.marks = true, .front = front};
    attrs.normalized_last = true;
  };
  if (form == split_by(kLlama3))
    attrs.cut = Cut::llama3;
  else if (form == split_by(kQwen2))
    attrs.cut = Cut::qwen2;
  else if (form == digits)
    attrs.cut = Cut::digits;
  else if (normalization.marks && form.is_null())
    attrs.cut = Cut::whole;
  else if (!normalization.any() && form == metaspace("always"))
    put_marks(Front::unless_there);
  else if (!normalization.any() && form == metaspace("first"))
    put_marks(Front::at_first);
  else if (!normalization.any() && form == metaspace("never"))
    put_marks(Front::none);
  else
    return;
  if (normalization.marks) {
    attrs.cut = Cut::whole;
    attrs.characters = true;
  }
  section = nullptr;
}

// null where there is none, or where `form` is no object.
Json member(const Json& form, const std::string& key) {
  return form.is_object() ? form.value(key, Json()) : Json();
}

// {"SpecialToken": {"id": "<s>", "type_id": 0}} before and behind {"Sequence": {"id": "A", ...}}.
bool take_template(const Json& form, BpeAttrs& attrs) {
  std::vector<int32_t> front, back;
  bool seen = false;
  for (const Json& item : form.value("single", Json())) {
    if (item.is_object() && item.contains("Sequence")) {
      if (seen) return false;
      seen = true;
      continue;
    }
    const Json name = member(member(item, "SpecialToken"), "id");
    if (!name.is_string()) return false;
    const Json token = member(member(form, "special_tokens"), name.get<std::string>());
    const Json ids = member(token, "ids");
    if (!ids.is_array()) return false;
    for (const Json& id : ids) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) return false;
      (seen ? back : front).push_back(id.get<int32_t>());
    }
  }
  if (!seen) return false;
  attrs.front = std::move(front);
  attrs.back = std::move(back);
  return true;
}

void take_post_processor(Json& section, BpeAttrs& attrs) {
  const auto is = [](const Json& form, const char* type) {
    return form.is_object() && form.value("type", Json()) == type;
  };
  if (is(section, "TemplateProcessing")) {
    if (take_template(section, attrs)) section = nullptr;
    return;
  }
  if (!is(section, "Sequence") || !section.value("processors", Json()).is_array()) return;
  int templates = 0;
  for (const Json& processor : section["processors"]) {
    if (is(processor, "ByteLevel")) continue;
    if (!is(processor, "TemplateProcessing") || ++templates > 1 || !take_template(processor, attrs))
      return;
  }
  section = nullptr;
}

void take_decoder(Json& section, const BpeAttrs& attrs) {
  if (!attrs.normalization.marks || !section.is_object()) return;
  Json steps = Json::array(
      {replaced(kBlankMark.data(), " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  const Json none_stripped{{"type", "Sequence"}, {"decoders", steps}};
  steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  const Json stripped{{"type", "Sequence"}, {"decoders", steps}};
  const bool front = attrs.normalization.front != Front::none;
  const bool metaspace = section.value("type", Json()) == "Metaspace";
  if (section == (front ? stripped : none_stripped) || metaspace) section = nullptr;
}

}  // namespace

BpeAttrs take_forms(Json& file) {
  BpeAttrs attrs;
  const auto section = [&](const char* name) -> Json& {
    static Json none;
    const auto found = file.find(name);
    return found == file.end() ? none = nullptr : *found;
  };
  take_normalizer(section("normalizer"), attrs);
  take_pre_tokenizer(section("pre_tokenizer"), attrs);
  take_post_processor(section("post_processor"), attrs);
  take_decoder(section("decoder"), attrs);
  return attrs;
}

}  // namespace plimsoll::data
