// Damage, repeatable: a random change of valid bytes.
//
//   Mutator mutator(seed, seeds(), words());
//   const std::string bytes = mutator.next();
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace plimsoll::fuzz {

class Mutator {
 public:
  static constexpr size_t kLongest = 16384;

  Mutator(uint64_t seed, std::vector<std::string> seeds, std::vector<std::string> words)
      : state_(seed), seeds_(std::move(seeds)), words_(std::move(words)) {}

  // One of the seeds after one to eight changes, mostly few.
  std::string next() {
    std::string bytes = pick(seeds_);
    for (uint64_t changes = 1 + below(1 + below(8)); changes > 0; --changes) change(bytes);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
    return bytes;
  }

 private:
  uint64_t random() {  // splitmix64 (Steele, Lea and Flood, 2014)
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return random() % n; }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  // Where numbers go wrong.
  uint64_t number() {
    constexpr uint64_t kEdges[] = {0,     1,        127,          255,
                                   65535, 1u << 31, ~uint64_t{0}, uint64_t{1} << 63};
    return kEdges[below(std::size(kEdges))] + below(3) - 1;
  }

  void change(std::string& bytes) {
    const size_t at = below(bytes.size() + 1);
    const size_t rest = bytes.size() - at;
    const size_t some = rest == 0 ? 0 : 1 + below(std::min<uint64_t>(rest, 32));
    switch (below(10)) {
      case 0:  // a bit
        if (rest > 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:  // a byte
        if (rest > 0) bytes[at] = static_cast<char>(random());
        break;
      case 2:  // a number in binary, either way round
        overwrite(bytes, at);
        break;
      case 3:  // a number as text, in place of one where there is one
        replace_number(bytes, at);
        break;
      case 4:
        bytes.erase(at, some);
        break;
      case 5: {  // some of it once more, at another place
        const std::string copy = bytes.substr(at, some);
        bytes.insert(below(bytes.size() + 1), copy);
        break;
      }
      case 6:
        if (!words_.empty()) bytes.insert(at, pick(words_));
        break;
      case 7:  // the end of another one
      {
        const std::string& other = pick(seeds_);
        bytes.resize(at);
        bytes += other.substr(below(other.size() + 1));
        break;
      }
      case 8:
        bytes.resize(at);
        break;
      default:  // deep or long
        bytes.insert(at, std::string(below(600), pick_char(bytes)));
    }
  }

  char pick_char(const std::string& bytes) {
    return bytes.empty() ? '[' : bytes[below(bytes.size())];
  }
  void overwrite(std::string& bytes, size_t at) {
    const uint64_t value = number();
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    if (below(2) == 0) std::reverse(std::begin(raw), std::end(raw));
    const size_t width = size_t{1} << below(4);
    const size_t n = std::min(width, bytes.size() - at);
    std::memcpy(bytes.data() + at, below(2) == 0 ? raw : raw + sizeof raw - width, n);
  }
  void replace_number(std::string& bytes, size_t at) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    size_t begin = at;
    while (begin < bytes.size() && !digit(bytes[begin])) ++begin;
    size_t end = begin;
    while (end < bytes.size() && digit(bytes[end])) ++end;
    bytes.replace(begin, end - begin, (below(4) == 0 ? "-" : "") + std::to_string(number()));
  }

  uint64_t state_;
  std::vector<std::string> seeds_, words_;
};

}  // namespace plimsoll::fuzz
