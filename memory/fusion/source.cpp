#include "memory/fusion/source.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "core/column_sums.h"
#include "core/hash.h"
#include "memory/fusion/groups.h"
#include "memory/fusion/source_text.h"

namespace plimsoll::fusion {
namespace {

bool has_rows(const Member& member) { return is_over_rows(*member.op); }
bool has_sums(const Member& member) { return sums_columns(*member.op); }

// The blocks leave what they have of the member's sums behind the operands; then that is added up.
void run_with_sums(const Member& member, const Call& call, KernelArguments& arguments) {
  const auto& fused = call.attrs.as<Fused>();
  arguments.at[call.in.size() + call.out.size()] = call.workspace.data();
  arguments.rows = fused.rows;
  launch_generated(*fused.kernel, row_blocks(fused.rows), arguments);
  std::vector<float*> totals;
  for (const Slice& out : std::span(member.out).subspan(1)) {
    const bool wanted = out.of == Slice::Of::output;
    totals.push_back(wanted ? call.out[static_cast<size_t>(out.number)].as<float>() : nullptr);
  }
  add_block_sums(call.workspace, fused.rows, fused.columns, totals);
}

class Writer {
 public:
  explicit Writer(const Fused& fused) : fused_(fused), together_(together(fused)) {}

  KernelText text() {
    for (const Member& member : fused_.members) write(member);
    const int64_t count = fused_.rows * fused_.columns;
    const char* index = count < (int64_t{1} << 31) ? "uint32_t" : "int64_t";
    std::string text = objects_;
    text += cat("  element::each<", together_, ", ", index, ">(arguments, ", count, ", [&]<int P>(",
                index, " i) {\n", loads_);
    for (const auto& [number, value] : outputs_)
      text += cat("    element::Pack<", type_of(value.dtype), ", P> out", number, ";\n");
    text += cat("    for (int j = 0; j < P; ++j) {\n", body_);
    for (const auto& [number, value] : outputs_)
      text += cat("      out", number, ".at[j] = ", value.name, ";\n");
    text += "    }\n";
    for (const auto& [number, value] : outputs_)
      text += cat("    element::store(arguments.at[", fused_.inputs + number, "], i, out", number,
                  ");\n");
    return {text + "  });\n", std::move(words_), 0};
  }

 private:
  struct Named {
    std::string name;
    DType dtype;
  };

  void write(const Member& member) {
    const std::string m = cat(next_++);
    std::string arguments;
    for (const Slice& in : member.in)
      if (!in.whole) arguments += cat(arguments.empty() ? "" : ", ", value(in));
    objects_ += cat("  const auto f", m, " = ", object_of(member, words_), ";\n");
    if (member.op->whole) {
      loads_ += cat("    const auto p", m, " = f", m, ".prepare<P>(i);\n");
      arguments = cat("p", m, ".at[j], ", arguments);
    }
    const Slice& out = member.out[0];
    body_ += cat("      const ", type_of(out.dtype), " v", m, " = f", m, "(", arguments, ");\n");
    const Named made{cat("v", m), out.dtype};
    values_[{out.of, out.number}] = made;
    if (out.of == Slice::Of::output) outputs_[out.number] = made;  // the last one stays
  }

  std::string value(const Slice& in) {
    if (in.of != Slice::Of::input) return values_.at({in.of, in.number}).name;
    // One input may be read in several ways: as a row by one member, as a column by another.
    const auto [entry, is_new] =
        loaded_.try_emplace({in.number, in.row_step, in.column_step}, cat("in", loaded_.size()));
    const std::string& name = entry->second;
    if (is_new) {
      loads_ +=
          cat("    const auto ", name, " = element::load<", type_of(in.dtype), ", ",
              is_along(in) ? "P" : "1", ">(arguments.at[", in.number, "], ", place(in), ");\n");
    }
    return cat(name, is_along(in) ? ".at[j]" : ".at[0]");
  }

  // Where the element for element i of the matrix lies.
  std::string place(const Slice& in) const {
    const bool down = in.row_step != 0 && fused_.rows > 1;
    if (in.column_step == 1)
      return down || fused_.rows == 1 ? "i" : cat("i % ", fused_.columns, "u");
    return down ? cat("i / ", fused_.columns, "u") : "0";
  }

  const Fused& fused_;
  const int together_;
  int next_ = 0;
  std::string objects_, loads_, body_;
  std::vector<uint64_t> words_;
  std::map<std::tuple<int, int64_t, int64_t>, std::string> loaded_;  // number and steps; name
  std::map<std::pair<Slice::Of, int>, Named> values_;                // what each place holds by now
  std::map<int, Named> outputs_;
};

}  // namespace

// Most are layer_norm's, and three more its gradient's with the sums; all members but one read what
// another one makes.
static_assert(kMostMembers * (3 + 3) + 3 - (kMostMembers - 1) <= KernelArguments::kMost);
static_assert(kMostMembers * 2 <= KernelArguments::kMostWords);  // dropout's attributes

int together(const Fused& fused) {
  constexpr int64_t kPackBytes = 16;
  int64_t most = 2, rows = 0;
  for (const Member& member : fused.members)
    for (const auto* side : {&member.in, &member.out})
      for (const Slice& slice : *side) {
        if (slice.whole || slice.of == Slice::Of::scratch) continue;
        if (is_along(slice)) most = std::max(most, kPackBytes / size_of(slice.dtype));
        if (slice.row_step != fused.columns && fused.rows > 1) rows = fused.columns;  // broadcasts
      }
  most = std::min<int64_t>(most, 8);
  while (rows % most != 0) most /= 2;  // a pack lies within a row
  return static_cast<int>(most);
}

KernelText kernel_text(const Fused& fused) {
  return std::ranges::any_of(fused.members, has_rows) ? row_kernel_text(fused)
                                                      : Writer(fused).text();
}

void add_kernel(Fused& fused) {
  static std::mutex mutex;
  static std::map<std::string, GeneratedKernel> kernels;  // by what they do
  KernelText text = kernel_text(fused);
  const std::scoped_lock lock(mutex);
  const auto [entry, is_new] = kernels.try_emplace(text.body);
  GeneratedKernel& kernel = entry->second;
  if (is_new) {
    kernel.name = cat("fused_", fnv1a(text.body));
    kernel.threads = text.threads;
    kernel.text = cat("PLIMSOLL_KERNEL(", kernel.name, ") {\n", text.body, "}\n");
  }
  fused.kernel = &kernel;
  fused.words = std::move(text.words);
}

void run_generated(const Call& call) {
  const auto& fused = call.attrs.as<Fused>();
  KernelArguments arguments{};
  std::ranges::copy(fused.words, arguments.words);
  int next = 0;
  for (const auto& side : {call.in, call.out})
    for (const View& view : side) arguments.at[next++] = view.data;
  const auto lies_on = [&](const Slice& slice, int64_t neighbours) {
    if (slice.of == Slice::Of::scratch) return true;
    const int number = slice.number + (slice.of == Slice::Of::output ? fused.inputs : 0);
    const auto bytes =
        static_cast<uintptr_t>(std::min<int64_t>(16, neighbours * size_of(slice.dtype)));
    return reinterpret_cast<uintptr_t>(arguments.at[number]) % bytes == 0;
  };
  if (fused.kernel->threads > 0) {
    arguments.columns = fused.columns;
    const auto member = std::ranges::find_if(fused.members, has_sums);
    if (member != fused.members.end()) return run_with_sums(*member, call, arguments);
    return launch_generated(*fused.kernel, fused.rows, arguments);
  }
  bool packs = true;
  const int64_t count = fused.rows * fused.columns, most = together(fused);
  for (const Member& member : fused.members)
    for (const auto* side : {&member.in, &member.out})
      for (const Slice& slice : *side) packs = packs && (!is_along(slice) || lies_on(slice, most));
  arguments.packs = packs ? count / most : 0;
  const int64_t rest = count - arguments.packs * most;
  launch_generated(*fused.kernel, std::max(arguments.packs, rest), arguments);
}

}  // namespace plimsoll::fusion
