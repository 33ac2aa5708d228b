#include "memory/recompute/cost_file.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/cpu/gemm/bfloat16.h"
#include "core/cpu/level.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMost = 200'000;  // of what is kept: some 10 MB

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 1);
  return " unknown";
}

// As kernels change, so does the file they are in.
const std::string& machine() {
  static const std::string text = [] {
    std::error_code none;
    return cat("plimsoll costs 2,", processor(), ", ", cpu_level(), ", ",
               name_of(bfloat16_products()), ", ", fs::file_size(engine_file(), none), " ",
               fs::last_write_time(engine_file(), none).time_since_epoch().count());
  }();
  return text;
}

std::string text_of(const KnownCosts& costs) {
  std::ostringstream text;
  text << machine() << "\n" << std::hexfloat;
  for (const auto& [key, cost] : costs)
    text << key << " " << cost.near << " " << cost.far << " " << cost.others << "\n";
  return text.str();
}

bool parse(std::string_view line, uint64_t& key, Cost& cost) {
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto take = [&](auto& value, auto... form) {
    const auto [next, error] = std::from_chars(at, end, value, form...);
    at = next != end ? next + 1 : end;
    return error == std::errc() && (next == end || *next == ' ');
  };
  const auto seconds = [&](double& value) {
    if (end - at > 2 && at[0] == '0' && at[1] == 'x') at += 2;
    return take(value, std::chars_format::hex) && std::isfinite(value) && value >= 0;
  };
  return take(key) && seconds(cost.near) && seconds(cost.far) && seconds(cost.others) &&
         at == end && cost.near <= cost.far;
}

}  // namespace

fs::path cost_file() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path folder = cache ? cache : "";
  if (!folder.is_absolute() && home) folder = fs::path(home) / ".cache";
  if (!folder.is_absolute()) return {};
  return folder / "plimsoll" / cat("costs-", fs::path(engine_file()).filename().string());
}

KnownCosts read_costs(const fs::path& file) {
  std::ostringstream whole;  // an iterator would throw where the file cannot be read
  whole << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string text = std::move(whole).str();
  // The last line is a hash of all before.
  const size_t last = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  if (last == std::string::npos || !text.starts_with(machine() + "\n")) return {};
  const std::string_view body(text.data(), last + 1);
  if (text.substr(last + 1) != cat(fnv1a(body), "\n")) return {};
  KnownCosts costs;
  for (size_t begin = machine().size() + 1; begin < body.size();) {
    const size_t end = body.find('\n', begin);
    uint64_t key = 0;
    Cost cost;
    if (!parse(body.substr(begin, end - begin), key, cost)) return {};
    costs[key] = cost;
    begin = end + 1;
  }
  return costs;
}

void write_costs(const fs::path& file, const KnownCosts& costs) {
  if (file.empty() || costs.size() > kMost) return;
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) return;
  const fs::path fresh = cat(file.string(), ".", getpid());
  std::ofstream out(fresh, std::ios::binary);
  const std::string body = text_of(costs);
  out << body << fnv1a(body) << "\n";
  out.close();
  if (out) fs::rename(fresh, file, failed);
  if (!out || failed) fs::remove(fresh, failed);
}

}  // namespace plimsoll
