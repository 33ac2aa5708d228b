#include "formats/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace plimsoll::formats {
namespace {

using Json = nlohmann::json;

// clang-format off
constexpr FileType kFileTypes[] = {
    {"BOOL", 8, DType::boolean}, {"F4", 4, {}}, {"F6_E2M3", 6, {}}, {"F6_E3M2", 6, {}},
    {"U8", 8, DType::u8}, {"I8", 8, {}}, {"F8_E5M2", 8, {}}, {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}}, {"F8_E4M3FNUZ", 8, {}}, {"F8_E5M2FNUZ", 8, {}}, {"I16", 16, {}},
    {"U16", 16, {}}, {"F16", 16, DType::f16}, {"BF16", 16, DType::bf16}, {"I32", 32, DType::i32},
    {"U32", 32, {}}, {"F32", 32, DType::f32}, {"C64", 64, {}}, {"F64", 64, DType::f64},
    {"I64", 64, DType::i64}, {"U64", 64, {}}};
// clang-format on

// Hears of every piece of the JSON in turn; whatever does not belong where it comes is refused, so
// nothing is kept that the format does not have and nesting cannot go deeper than the format's.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  SafetensorsHeader take() {
    expect(place_ == Place::end, "the header is no JSON object");
    return std::move(header_);
  }

  bool start_object(size_t) {
    if (place_ == Place::start) return go(Place::names);
    if (place_ == Place::tensor) return go(Place::fields);
    if (place_ == Place::metadata) return go(Place::metadata_keys);
    unexpected("an object");
  }
  bool key(std::string& name) {
    if (place_ == Place::fields) return field(name);
    key_ = name;
    if (place_ == Place::metadata_keys) {
      expect(!header_.metadata.contains(name), "the metadata has the key ", in_quotes(name),
             " twice");
      return go(Place::metadata_text);
    }
    if (name == kMetadataName) {
      expect(!seen_metadata_, "the metadata is there twice");
      seen_metadata_ = true;
      return go(Place::metadata);
    }
    const auto [at, fresh] = header_.tensors.try_emplace(name);
    expect(fresh, "the name ", in_quotes(name), " is there twice");
    tensor_ = &at->second;
    seen_fields_ = {};
    return go(Place::tensor);
  }
  bool end_object() {
    if (place_ == Place::names) return go(Place::end);
    if (place_ == Place::fields)
      for (size_t i = 0; i < 3; ++i)
        expect(seen_fields_[i], "tensor ", in_quotes(key_), " has no ", kFields[i].name);
    return go(Place::names);  // of a tensor or of the metadata
  }
  bool start_array(size_t) {
    offsets_ = 0;
    if (place_ == Place::shape) return go(Place::sizes);
    if (place_ == Place::offsets) return go(Place::ends);
    unexpected("a list");
  }
  bool end_array() {
    if (place_ == Place::ends)
      expect(offsets_ == 2, "tensor ", in_quotes(key_), " has ", offsets_,
             " data_offsets where 2 belong");
    return go(Place::fields);
  }
  bool string(std::string& text) {
    if (place_ == Place::metadata_text) {
      header_.metadata.emplace(key_, text);
      return go(Place::metadata_keys);
    }
    if (place_ != Place::dtype) unexpected("text");
    const auto type = std::ranges::find(kFileTypes, text, &FileType::name);
    expect(type != std::end(kFileTypes), "tensor ", in_quotes(key_),
           " has an unknown dtype: ", in_quotes(text));
    tensor_->type = type;
    return go(Place::fields);
  }
  bool number_unsigned(uint64_t value) {
    if (place_ == Place::sizes) {
      expect(tensor_->shape.size() < kMaxFileAxes, "tensor ", in_quotes(key_), " has more than ",
             kMaxFileAxes, " axes");
      tensor_->shape.push_back(value);
    } else if (place_ == Place::ends) {
      if (offsets_ < 2) (offsets_ == 0 ? tensor_->begin : tensor_->end) = value;
      ++offsets_;
    } else {
      unexpected("a number");
    }
    return true;
  }
  bool number_integer(int64_t) { unexpected("a number below 0"); }
  bool number_float(double, const std::string&) { unexpected("a number that is not whole"); }
  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("true or false"); }
  bool binary(Json::binary_t&) { unexpected("binary data"); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) {
    refuse("the header is not JSON in UTF-8: see its byte ", position);
  }

 private:
  enum class Place {
    start,          // before the object that is the header
    names,          // in it
    tensor,         // behind the name of a tensor
    fields,         // in its object
    dtype,          // behind these names
    shape,          //
    offsets,        //
    sizes,          // in the list of the shape
    ends,           // in that of the data_offsets
    metadata,       // behind the name of the metadata
    metadata_keys,  // in its object
    metadata_text,  // behind one of its keys
    end
  };
  struct Field {
    std::string_view name;
    Place place;
  };
  static constexpr Field kFields[] = {
      {"dtype", Place::dtype}, {"shape", Place::shape}, {"data_offsets", Place::offsets}};

  bool go(Place place) {
    place_ = place;
    return true;
  }
  bool field(const std::string& name) {
    const auto found = std::ranges::find(kFields, name, &Field::name);
    expect(found != std::end(kFields), "tensor ", in_quotes(key_), " has a field ", in_quotes(name),
           " that is not of the format");
    bool& seen = seen_fields_[found - std::begin(kFields)];
    expect(!seen, "tensor ", in_quotes(key_), " has ", name, " twice");
    seen = true;
    return go(found->place);
  }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail<DataError>("safetensors: ", parts..., ": in ", path_, ". Write or fetch it again.");
  }
  template <class... Parts>
  void expect(bool ok, const Parts&... parts) const {
    if (!ok) refuse(parts...);
  }
  [[noreturn]] void unexpected(const char* what) const {
    refuse("the header has ", what, " where it does not belong, near ", in_quotes(key_));
  }

  const std::string& path_;
  SafetensorsHeader header_;
  Place place_ = Place::start;
  std::string key_;  // the last name of a tensor, or key of the metadata
  FileTensor* tensor_ = nullptr;
  std::array<bool, 3> seen_fields_{};
  bool seen_metadata_ = false;
  int64_t offsets_ = 0;
};

// Bytes of the elements; nullopt when 63 bits do not hold their number or they end within a byte.
std::optional<uint64_t> bytes_of(const FileTensor& tensor) {
  int64_t n = 1;
  for (const uint64_t size : tensor.shape)
    if (size > std::numeric_limits<int64_t>::max() ||
        __builtin_mul_overflow(n, static_cast<int64_t>(size), &n))
      return std::nullopt;
  uint64_t bits = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(n), tensor.type->bits, &bits) || bits % 8 != 0)
    return std::nullopt;
  return bits / 8;
}

// The tensors follow each other without a gap from the first byte of the data to the last.
void check_places(SafetensorsHeader& header, uint64_t data_bytes, const std::string& path) {
  std::vector<const std::pair<const std::string, FileTensor>*> order;
  for (const auto& item : header.tensors) order.push_back(&item);
  std::ranges::sort(
      order, {}, [](const auto* item) { return std::pair(item->second.begin, item->second.end); });
  uint64_t next = 0;
  for (const auto* item : order) {
    const FileTensor& tensor = item->second;
    const auto expect = [&](bool ok, const auto&... parts) {
      check<DataError>(ok, "safetensors: tensor ", in_quotes(item->first), " ", parts..., ": in ",
                       path, ". Write or fetch it again.");
    };
    expect(tensor.begin <= tensor.end, "ends before it begins, from byte ", tensor.begin, " to ",
           tensor.end);
    expect(tensor.begin == next, "begins at byte ", tensor.begin,
           " of the data where the one before ends at ", next);
    expect(bytes_of(tensor) == tensor.end - tensor.begin, "has ", tensor.end - tensor.begin,
           " bytes, which its shape and dtype ", tensor.type->name, " do not give");
    next = tensor.end;
    header.names.push_back(item->first);
  }
  check<DataError>(next == data_bytes, "safetensors: the tensors end at byte ", next,
                   " of the data, the file at ", data_bytes, ": in ", path,
                   ". Write or fetch it again.");
}

}  // namespace

const FileType& type_of(DType dtype) {
  return *std::ranges::find(kFileTypes, std::optional(dtype), &FileType::dtype);
}

SafetensorsHeader parse_header(std::string_view text, uint64_t data_bytes,
                               const std::string& path) {
  // The JSON library would take a NUL for the end of the text and skip a byte order mark.
  const size_t first = text.find_first_not_of(" \t\r\n");
  check<DataError>(first != text.npos && text[first] == '{' && text.find('\0') == text.npos,
                   "safetensors: the header is not a JSON object: in ", path,
                   ". Name a safetensors file.");
  Reader reader(path);
  Json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  check_places(header, data_bytes, path);
  return header;
}

std::string in_quotes(std::string_view name) {
  constexpr size_t kLongest = 60;
  const bool cut = name.size() > kLongest;
  const Json text(std::string(name.substr(0, kLongest)) + (cut ? "..." : ""));
  return text.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string header_text(std::span<const NamedTensor* const> tensors, const Metadata& metadata) {
  std::string text = "{";
  const auto json_of = [](const std::string& name) {
    try {
      return Json(name).dump();
    } catch (const Json::type_error&) {
      fail<ValueError>("safetensors: a name or text is not UTF-8: ", in_quotes(name),
                       ". Use another one.");
    }
  };
  for (const auto& [key, value] : metadata)
    text += cat(text.size() > 1 ? "," : cat(json_of(std::string(kMetadataName)), ":{"),
                json_of(key), ":", json_of(value));
  if (!metadata.empty()) text += '}';
  int64_t begin = 0;
  for (const NamedTensor* item : tensors) {
    const Meta& meta = item->tensor.meta();
    const int64_t end = checked_add(begin, bytes_of(meta), "safetensors");
    const nlohmann::ordered_json entry{
        {"dtype", type_of(meta.dtype).name},
        {"shape", std::vector<int64_t>(meta.shape.begin(), meta.shape.end())},
        {"data_offsets", {begin, end}}};
    text += cat(text.size() > 1 ? "," : "", json_of(item->name), ":", entry.dump());
    begin = end;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check<ValueError>(text.size() <= kMaxHeaderBytes, "safetensors: the header would have ",
                    text.size(), " bytes, at most ", kMaxHeaderBytes,
                    " are read. Write several files.");
  return text;
}

}  // namespace plimsoll::formats
