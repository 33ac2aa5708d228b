#include "formats/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

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

// Hears of the JSON as it is read and takes each tensor as soon as it is complete: no more than one
// is kept as JSON, and nothing nested deeper than the format's.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  SafetensorsHeader read(std::string_view text) {
    const auto hear = [this](int depth, Json::parse_event_t event, Json& value) {
      return heard(depth, event, value);
    };
    try {
      const Json rest = Json::parse(text.begin(), text.end(), hear);  // empty: all was taken
    } catch (const Json::exception& e) {
      const auto* const error = dynamic_cast<const Json::parse_error*>(&e);
      refuse("the header is not JSON in UTF-8: see its byte ", error ? error->byte : 0);
    }
    return std::move(header_);
  }

 private:
  using Event = Json::parse_event_t;

  // `depth` of names is 1, of fields 2, of the numbers of their lists 3. False: it was taken.
  bool heard(int depth, Event event, Json& value) {
    expect(depth != 1 || event == Event::key || event == Event::object_start ||
               event == Event::object_end,
           in_quotes(name_), " is no object");
    const bool deep =
        (event == Event::object_start && depth >= 2) || (event == Event::array_start && depth >= 3);
    expect(!deep, in_quotes(name_), " holds objects, or lists of lists");
    if (event == Event::key && depth == 1) {
      name_ = value.get<std::string>();
      keys_.clear();
      const bool fresh = names_.insert(name_).second;
      expect(fresh, "the name ", in_quotes(name_), " is there twice");
    } else if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      expect(keys_.insert(key).second, in_quotes(name_), " has ", in_quotes(key), " twice");
      const bool field = key == "dtype" || key == "shape" || key == "data_offsets";
      expect(field || name_ == kMetadataName, "tensor ", in_quotes(name_), " has a field ",
             in_quotes(key), " that is not of the format");
    }
    if (event == Event::array_start) numbers_ = 0;
    if (depth == 3 && event == Event::value)
      expect(++numbers_ <= kMaxFileAxes, "tensor ", in_quotes(name_), " has more than ",
             kMaxFileAxes, " axes");
    if (depth != 1 || event != Event::object_end) return true;
    name_ == kMetadataName ? take_metadata(value) : take_tensor(value);
    return false;
  }

  void take_metadata(const Json& object) {
    for (const auto& [key, text] : object.items()) {
      expect(text.is_string(), "the metadata ", in_quotes(key), " is no text");
      header_.metadata.emplace(key, text.get<std::string>());
    }
  }

  void take_tensor(const Json& object) {
    FileTensor& tensor = header_.tensors[name_];
    const Json dtype = object.value("dtype", Json());
    expect(dtype.is_string(), "tensor ", in_quotes(name_), " has no dtype that is text");
    const auto type = std::ranges::find(kFileTypes, dtype.get<std::string>(), &FileType::name);
    expect(type != std::end(kFileTypes), "tensor ", in_quotes(name_),
           " has an unknown dtype: ", in_quotes(dtype.get<std::string>()));
    tensor.type = type;
    tensor.shape = sizes(object, "shape");
    const std::vector<uint64_t> offsets = sizes(object, "data_offsets");
    expect(offsets.size() == 2, "tensor ", in_quotes(name_), " has ", offsets.size(),
           " data_offsets where 2 belong");
    tensor.begin = offsets[0], tensor.end = offsets[1];
  }

  std::vector<uint64_t> sizes(const Json& object, const char* key) const {
    const Json list = object.value(key, Json());
    const bool right = list.is_array() && std::ranges::all_of(list, [](const Json& number) {
                         return number.is_number_unsigned();
                       });
    expect(right, "tensor ", in_quotes(name_), " has no ", key,
           " that is a list of whole numbers from 0");
    return list;
  }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail<DataError>("safetensors: ", parts..., ": in ", path_, ". Write or fetch it again.");
  }
  template <class... Parts>
  void expect(bool ok, const Parts&... parts) const {
    if (!ok) refuse(parts...);
  }

  const std::string& path_;
  SafetensorsHeader header_;
  std::set<std::string> names_, keys_;  // so far; of the object that is open
  std::string name_;                    // the last one
  size_t numbers_ = 0;                  // in the list that is open
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
  SafetensorsHeader header = Reader(path).read(text);
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
