// The kernels of groups with ops over rows, in the terms of ops/element_rows.cuh, which shows one:
// loops over the elements of a row, and between them what an op over rows makes of the whole row.
// All values are held by their threads; the compiler forgets those that no later loop reads.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/row_threads.h"
#include "memory/fusion/source_text.h"

namespace plimsoll::fusion {
namespace {

class RowWriter {
 public:
  explicit RowWriter(const Fused& fused) : fused_(fused) {
    const int64_t count = fused.rows * fused.columns;
    index_ = count < (int64_t{1} << 31) ? "uint32_t" : "int64_t";
    // An output is stored once the last member that writes there has done so.
    for (int m = 0; m < std::ssize(fused.members); ++m)
      for (const Slice& out : fused.members[static_cast<size_t>(m)].out)
        if (out.of == Slice::Of::output) last_writer_[out.number] = m;
  }

  KernelText text() {
    for (int m = 0; m < std::ssize(fused_.members); ++m) write(m);
    close_loop();
    std::string text = objects_;
    text += cat("  element::", left_.empty() ? "each_row<" : "each_row_in_turn<", fused_.columns,
                ", ", index_, ">(arguments, [&]<int P>(element::Part<", fused_.columns, ", P, ",
                index_, "> row) {\n", held_, shared_, body_, "  });\n", left_);
    return {text, std::move(words_), row_threads(fused_.columns)};
  }

 private:
  void write(int m) {
    const Member& member = fused_.members[static_cast<size_t>(m)];
    const bool over_row = is_over_rows(*member.op), sums = sums_columns(*member.op);
    const std::string f = cat("f", m), s = cat("s", m), columns = cat("c", m);
    objects_ += cat("  const auto ", f, " = ", object_of(member, words_), ";\n");
    if (sums) {
      objects_ += cat("  auto ", columns, " = ", f, ".template columns<", fused_.columns, ">();\n");
      left_ = cat("  ", columns, ".leave(arguments.at[", fused_.inputs + outputs(), "]);\n");
    }
    std::vector<std::string> in;  // "v0[h].at[j]"
    std::string rows;             // ", v0"
    for (const Slice& slice : member.in)
      if (!slice.whole) {
        const std::string name = value(slice);
        rows += ", " + name;
        if (moves(slice))
          in.push_back(name + "[h].at[j]");
        else if (!over_row)
          in.push_back(name + ".at[0]");
      }
    std::string arguments;
    const auto add = [&](const std::string& text) {
      arguments += cat(arguments.empty() ? "" : ", ", text);
    };
    if (over_row) {
      close_loop();
      body_ += cat("    const auto ", s, " = ", f, ".over_row(row",
                   sums ? ", " + columns : std::string(), rows, ");\n");
      for (size_t k = 1; k < member.out.size() && !sums; ++k)
        if (const Slice& out = member.out[k]; stored_by(m, out))
          body_ +=
              cat("    row.template set<", type_of(out.dtype), ">(arguments.at[",
                  fused_.inputs + out.number, "], ", f, ".template output<", k, ">(", s, "));\n");
      add(s);
    }
    if (sums) {
      add(columns + ".of[h][j]");
    } else if (member.op->whole) {
      loads_ += cat("      const auto p", m, " = ", f, ".template prepare<P>(",
                    over_row ? "c" : "i", ");\n");
      add(cat("p", m, ".at[j]"));
    }
    for (const std::string& text : in) add(text);
    const Slice& out = member.out[0];
    const std::string v = cat("v", m);
    hold(v, out.dtype);
    formulas_ += cat("        ", v, "[h].at[j] = ", f, "(", arguments, ");\n");
    values_[{out.of, out.number}] = v;
    if (stored_by(m, out))
      stores_ += cat("      element::store_any(arguments.at[", fused_.inputs + out.number, "], i, ",
                     v, "[h]);\n");
  }

  bool stored_by(int m, const Slice& out) const {
    return out.of == Slice::Of::output && last_writer_.at(out.number) == m;
  }

  // From element to element, not from row to row alone.
  static bool moves(const Slice& slice) { return is_along(slice) && slice.width != 1; }

  int outputs() const {
    int most = 0;
    for (const auto& [number, writer] : last_writer_) most = std::max(most, number + 1);
    return most;
  }

  void hold(const std::string& name, DType dtype) {
    held_ += cat("    element::Held<", type_of(dtype), ", ", fused_.columns, ", P> ", name, ";\n");
  }

  // What was made, or an input, which the loop that first needs it loads.
  std::string value(const Slice& in) {
    if (in.of != Slice::Of::input) return values_.at({in.of, in.number});
    const auto [entry, is_new] =
        loaded_.try_emplace({in.number, in.row_step, in.column_step}, cat("in", loaded_.size()));
    const std::string& name = entry->second;
    if (is_new && moves(in)) {
      hold(name, in.dtype);
      loads_ += cat("      ", name, "[h] = element::load_any<", type_of(in.dtype),
                    ", P>(arguments.at[", in.number, "], ", in.row_step ? "i" : "c", ");\n");
    } else if (is_new) {  // all of the row read the same
      shared_ +=
          cat("    const auto ", name, " = element::load<", type_of(in.dtype), ", 1>(arguments.at[",
              in.number, "], ", in.row_step ? "row.number" : "0", ");\n");
    }
    return name;
  }

  void close_loop() {
    if (loads_.empty() && formulas_.empty()) return;
    body_ += cat("    row.each([&](int h, [[maybe_unused]] ", index_,
                 " i, [[maybe_unused]] int c) {\n", loads_);
    if (!formulas_.empty())
      body_ += cat("#pragma unroll\n      for (int j = 0; j < P; ++j) {\n", formulas_, "      }\n");
    body_ += stores_ + "    });\n";
    loads_.clear();
    formulas_.clear();
    stores_.clear();
  }

  const Fused& fused_;
  const char* index_;
  std::string objects_, held_, shared_, body_;  // of the kernel
  std::string left_;                            // behind all rows: sums over them
  std::string loads_, formulas_, stores_;       // of the loop that is being written
  std::vector<uint64_t> words_;
  std::map<int, int> last_writer_;                                   // of each output
  std::map<std::tuple<int, int64_t, int64_t>, std::string> loaded_;  // number and steps; name
  std::map<std::pair<Slice::Of, int>, std::string> values_;          // what each place holds by now
};

}  // namespace

KernelText row_kernel_text(const Fused& fused) { return RowWriter(fused).text(); }

}  // namespace plimsoll::fusion
