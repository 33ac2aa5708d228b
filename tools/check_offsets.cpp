// check_offsets: is a placement right? Shares no code with place_offsets.
//
//   check_offsets --input model.csv --output placed.csv --capacity 1048576
//
// Exit code: 0 every buffer of the input is placed, at 0 or above, below the capacity, and no two
// that live at the same time share a byte; 1 that is not so; 2 a file cannot be read.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "examples/common/command_line.h"

namespace {

struct PlacedBuffer {
  long long lower = 0, upper = 0, size = 0, offset = 0;
  __int128 top() const { return static_cast<__int128>(offset) + size; }
};

struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) {  // blanks inside a value stay
    part.erase(0, part.find_first_not_of(" \t\r"));
    part.erase(part.find_last_not_of(" \t\r") + 1);
  }
  return parts;
}

// The rows by id. `columns` must all be there, and others do not matter.
std::map<std::string, PlacedBuffer> read(const std::string& path,
                                         const std::vector<std::string>& columns) {
  std::ifstream file(path);
  std::string line;
  int number = 0;  // of the line
  do {             // blank lines may come first
    if (!std::getline(file, line)) throw Unreadable(path + ": no first line");
    if (++number == 1 && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
  } while (line.find_first_not_of(" \t\r") == std::string::npos);
  const std::vector<std::string> header = split(line);
  std::map<std::string, size_t> at;
  for (size_t i = 0; i < header.size(); ++i) at[header[i]] = i;
  for (const std::string& column : columns)
    if (!at.count(column)) throw Unreadable(path + ": no column " + column);

  std::map<std::string, PlacedBuffer> rows;
  while (std::getline(file, line)) {
    ++number;
    const std::vector<std::string> parts = split(line);
    if (parts.size() == 1 && parts[0].empty()) continue;
    const std::string where = path + ": line " + std::to_string(number) + ": ";
    if (parts.size() != header.size())
      throw Unreadable(where + "as many values as columns expected");
    PlacedBuffer row;
    for (const auto& [column, field] : {std::pair("lower", &PlacedBuffer::lower),
                                        {"upper", &PlacedBuffer::upper},
                                        {"size", &PlacedBuffer::size},
                                        {"offset", &PlacedBuffer::offset}}) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) continue;
      std::istringstream text(parts[at[column]]);
      if (!(text >> row.*field) || text.peek() != EOF)
        throw Unreadable(where + column + ": a whole number expected");
    }
    if (row.size < 0) throw Unreadable(where + "the size is negative");
    if (row.upper <= row.lower) throw Unreadable(where + "the lifetime is empty");
    if (!rows.emplace(parts[at["id"]], row).second) throw Unreadable(where + "this id came before");
  }
  if (file.bad()) throw Unreadable(path + ": reading failed");
  return rows;
}

// Base ten, also with leading zeros.
long long bytes_of(const std::string& word) {
  long long bytes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
  if (error != std::errc() || end != word.data() + word.size() || bytes < 0)
    throw Unreadable("--capacity: a whole number from 0 expected");
  return bytes;
}

// What is wrong; empty: nothing.
std::string fault(const std::map<std::string, PlacedBuffer>& input,
                  const std::map<std::string, PlacedBuffer>& output, long long capacity) {
  for (const auto& [id, row] : output)
    if (!input.count(id)) return id + " is not in the input";
  std::vector<std::pair<std::string, PlacedBuffer>> rows;
  for (const auto& [id, asked] : input) {
    const auto found = output.find(id);
    if (found == output.end()) return id + " is not placed";
    const PlacedBuffer& row = found->second;
    if (row.lower != asked.lower || row.upper != asked.upper || row.size != asked.size)
      return id + " has another lifetime or size than in the input";
    if (row.offset < 0) return id + " lies below 0";
    if (row.top() > capacity) return id + " sticks out of the capacity";
    if (row.size > 0) rows.emplace_back(id, row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.lower < b.second.lower; });
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t k = i + 1; k < rows.size() && rows[k].second.lower < rows[i].second.upper; ++k) {
      const PlacedBuffer &a = rows[i].second, &b = rows[k].second;
      if (a.offset < b.top() && b.offset < a.top())
        return rows[i].first + " and " + rows[k].first + " overlap";
    }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  std::string input, output, given = std::to_string(INT64_MAX);
  plimsoll::examples::CommandLine app("Checks a placement of buffers.");
  app.add_option("--input", input, "what was asked: id,lower,upper,size")->required();
  app.add_option("--output", output, "what was answered: id,lower,upper,size,offset")->required();
  app.add_option("--capacity", given, "bytes of the arena");
  try {
    app.parse(argc, argv);
    const long long capacity = bytes_of(given);
    const auto asked = read(input, {"id", "lower", "upper", "size"});
    const auto answer = read(output, {"id", "lower", "upper", "size", "offset"});
    const std::string wrong = fault(asked, answer, capacity);
    __int128 height = 0;
    for (const auto& [id, row] : answer) height = std::max(height, row.size > 0 ? row.top() : 0);
    if (wrong.empty())
      std::cout << "right: " << asked.size() << " buffers, height "
                << static_cast<long long>(height) << "\n";
    else
      std::cout << "wrong: " << wrong << "\n";
    return wrong.empty() ? 0 : 1;
  } catch (const plimsoll::examples::Exit& exit) {
    return exit.print();
  } catch (const Unreadable& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
