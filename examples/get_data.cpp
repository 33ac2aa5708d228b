// get_data: fetches the datasets that the examples train on.
//
//   get_data mnist --out data/mnist
//   get_data mnist --out data/mnist --base file:///media/usb/mnist        # or any mirror
//
// Files that are there already and have the right checksum are left alone. CIFAR-10 comes as an
// archive, which stays beside the files taken out of it: it is what the checksum is known of. Those
// files are taken out again where one is missing or has another size.
// Exit code: 0 done, 2 wrong usage, 3 the data could not be fetched.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "core/error.h"
#include "examples/get_data_fetch.h"

namespace plimsoll::get_data {
namespace {

namespace fs = std::filesystem;

void get(const Dataset& dataset, const std::string& base, const fs::path& dir) {
  for (const RemoteFile& file : dataset.files) {
    if (is_present(file, dir)) {
      std::cout << file.name << ": already there\n";
      continue;
    }
    std::cout << file.name << ": fetching " << file.bytes << " bytes from " << base << std::endl;
    fetch(file, base, dir);
  }
  const auto missing = [&](const Member& member) {
    std::error_code error;
    return fs::file_size(dir / member.name, error) != static_cast<uintmax_t>(member.bytes);
  };
  if (std::any_of(dataset.members.begin(), dataset.members.end(), missing)) {
    std::cout << dataset.files[0].name << ": unpacking" << std::endl;
    unpack(dir / dataset.files[0].name, dataset.members, dir);
  }
  std::cout << "done: train with --data " << dataset.prefix << dir.string() << dataset.suffix
            << "\n";
}

int run(int argc, char** argv) {
  CLI::App app("Fetches a dataset, checked against its published checksum.");
  std::vector<std::string> names;
  for (const Dataset& dataset : kDatasets) names.emplace_back(dataset.name);
  std::string name, dir, base;
  app.add_option("dataset", name, "what to fetch")->required()->check(CLI::IsMember(names));
  app.add_option("--out", dir, "folder to put it in")->required();
  app.add_option("--base", base, "address of a mirror: http, https, file, or a folder");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help is no error
  }
  const auto& dataset = *std::find_if(std::begin(kDatasets), std::end(kDatasets),
                                      [&](const Dataset& d) { return name == d.name; });
  try {
    get(dataset, base.empty() ? dataset.base : base, dir);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll::get_data

int main(int argc, char** argv) { return plimsoll::get_data::run(argc, argv); }
