#include "data/json_vocabulary.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/file.h"

namespace plimsoll::data {
namespace {

using Json = nlohmann::json;

// Event by event, so that nothing but the pairs is ever built.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  std::vector<std::pair<std::string, int64_t>> entries;

  bool start_object(size_t) override {
    if (depth_++ > 0) refuse();
    return true;
  }
  bool key(string_t& token) override {
    token_ = std::move(token);
    return true;
  }
  bool number_unsigned(uint64_t id) override {
    if (depth_ == 0 || id > INT32_MAX) refuse();
    entries.emplace_back(std::move(token_), static_cast<int64_t>(id));
    return true;
  }
  bool end_object() override { return true; }

  bool null() override { refuse(); }
  bool boolean(bool) override { refuse(); }
  bool number_integer(int64_t) override { refuse(); }
  bool number_float(double, const string_t&) override { refuse(); }
  bool string(string_t&) override { refuse(); }
  bool binary(binary_t&) override { refuse(); }
  bool start_array(size_t) override { refuse(); }
  bool end_array() override { refuse(); }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    fail<DataError>("tokenizer: the JSON cannot be read: ", name_, " at byte ", position,
                    ". Use the file as it was published.");
  }

 private:
  [[noreturn]] void refuse() const {
    if (depth_ == 0)
      fail<DataError>("tokenizer: this is no object of tokens and ids: ", name_,
                      ". Use a vocab.json.");
    fail<DataError>("tokenizer: the id of a token is no whole number from 0 to 2^31 - 1: ", name_,
                    " after token \"", shown(token_), "\". Use a vocab.json.");
  }

  const std::string& name_;
  std::string token_;
  int depth_ = 0;
};

}  // namespace

std::vector<std::pair<std::string, int64_t>> parse_json_vocabulary(const std::string& json,
                                                                   const std::string& name) {
  Reader reader(name);
  Json::sax_parse(json, &reader);
  return std::move(reader.entries);
}

}  // namespace plimsoll::data
