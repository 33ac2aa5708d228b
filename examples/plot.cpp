// Curves of runs on one page: losses, accuracy, learning rate, memory planned and measured, and
// throughput.
//
//   plot runs/a runs/b --output page.html
#include <cstdio>

#include "data/output_file.h"
#include "examples/common/options.h"
#include "train/pictures/curves.h"

int main(int argc, char** argv) {
  using namespace plimsoll;
  examples::Options options;
  std::vector<std::string> runs;
  std::string output;
  examples::CommandLine app{"Draws how runs went: a page for any browser, without network."};
  app.add_option("runs", runs, "Folders of runs, also while they train")->required();
  app.add_option("--output", output, "The page, an HTML file")
      ->check(examples::not_empty())
      ->required();
  return examples::run_example(app, argc, argv, options, [&] {
    const data::OutputFile file("--output", output);
    const std::vector<train::Curves> curves = train::read_curves({runs.begin(), runs.end()});
    file.write(train::curves_page(curves));
    for (const auto& [name, rows] : curves)
      std::printf("%s: %zu rows, until batch %lld\n", name.c_str(), rows.size(),
                  static_cast<long long>(rows.back().batches));
  });
}
