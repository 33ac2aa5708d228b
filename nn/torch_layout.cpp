#include "nn/torch_layout.h"

#include <algorithm>

#include "core/engine/transfer.h"
#include "nn/attention.h"
#include "nn/conv.h"
#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/norm.h"
#include "nn/transformer.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

constexpr const char* kCounter = "num_batches_tracked";

template <class M>
bool is(const Module& module) {
  return dynamic_cast<const M*>(&module) != nullptr;
}

struct Rename {
  std::string_view ours, theirs;  // of a tensor, or of a child with its dot
};

// What differs for one kind of module.
struct Kind {
  bool (*holds)(const Module&);
  std::vector<Rename> renames = {};
  bool channels_last = false;  // of its weight
  bool counts_batches = false;
};

const Kind* kind_of(const Module& module) {
  static const std::vector<Rename> norm = {{"gamma", "weight"}, {"beta", "bias"}};
  static const Kind kinds[] = {
      {.holds = is<Conv1d>, .channels_last = true},
      {.holds = is<Conv2d>, .channels_last = true},
      {.holds = is<ConvTranspose1d>, .channels_last = true},
      {.holds = is<ConvTranspose2d>, .channels_last = true},
      {.holds = is<LayerNorm>, .renames = norm},
      {.holds = is<GroupNorm>, .renames = norm},
      {.holds = is<RMSNorm>, .renames = norm},
      {.holds = is<BatchNorm2d>,
       .renames = {norm[0], norm[1], {"running_variance", "running_var"}},
       .counts_batches = true},
      {.holds = is<LearnedPositions>, .renames = {{"table", "weight"}}},
      {.holds = is<MultiHeadAttention>,
       .renames = {{"qkv.", "in_proj_"}, {"output.", "out_proj."}}},
      {.holds = is<TransformerBlock>,
       .renames = {{"attention.", "self_attn."},
                   {"expand.", "linear1."},
                   {"contract.", "linear2."}}},
  };
  const auto found = std::ranges::find_if(kinds, [&](const Kind& k) { return k.holds(module); });
  return found == std::end(kinds) ? nullptr : found;
}

std::string renamed(const Kind* kind, const std::string& name) {
  if (kind)
    for (const Rename& rename : kind->renames)
      if (rename.ours == name) return std::string(rename.theirs);
  return name;
}

// One tensor of the model, and how PyTorch has it.
struct Entry {
  std::string name;  // there
  Tensor ours;       // undefined for the counter of batches
  Shape split = {};  // ours with an axis for all that moves: its last axis is the second there
  Shape shape = {};  // there
  bool transposed = false;

  bool moves() const { return split.rank() > 0; }
};

Shape last_to_second(const Shape& shape) {
  Shape moved{shape[0], shape.back()};
  for (int axis = 1; axis < shape.rank() - 1; ++axis) moved.push_back(shape[axis]);
  return moved;
}

Shape second_to_last(const Shape& shape) {
  Shape moved{shape[0]};
  for (int axis = 2; axis < shape.rank(); ++axis) moved.push_back(shape[axis]);
  moved.push_back(shape[1]);
  return moved;
}

Shape axes(const Shape& shape) {  // {0, 1, ...}
  Shape all;
  for (int axis = 0; axis < shape.rank(); ++axis) all.push_back(axis);
  return all;
}

Tensor to_torch(const Entry& entry) {
  if (!entry.ours.defined()) return Tensor::of<int64_t>({0}, {});
  const Tensor ours = entry.ours.detach();
  if (entry.transposed) return transpose(ours);
  if (!entry.moves()) return ours;
  const Tensor moved = permute(reshape(ours, entry.split), last_to_second(axes(entry.split)));
  return reshape(moved, entry.shape);  // a copy where two axes become one
}

Tensor from_torch(const Entry& entry, const Tensor& theirs) {
  Tensor values = theirs.detach();
  if (entry.moves()) {
    const Tensor apart = reshape(values, last_to_second(entry.split));
    values = permute(apart, second_to_last(axes(entry.split)));
    values = reshape(contiguous(values), entry.ours.shape());
  } else if (entry.transposed) {
    values = transpose(values);
  }
  return to_device(cast(contiguous(values), entry.ours.dtype()), entry.ours.device());
}

// The weight of a Linear behind a flattened image.
Shape split_of(const std::string& name, const Module& module, const Tensor& weight,
               const Shape& image) {
  check<ValueError>(is<Linear>(module) && image.rank() == 3 && count(image) == weight.size(1),
                    "torch_layout: a flattened image ", image, " is not what \"", name,
                    "\" takes. Name a Linear module and the height, width and channels of its "
                    "input.");
  return {weight.size(0), image[0], image[1], image[2]};
}

// What the layout says of names.
void rename(Entry& entry, const TorchLayout& layout) {
  for (const auto& [ours, theirs] : layout.renames)
    if (const size_t found = entry.name.find(ours); found != std::string::npos)
      entry.name.replace(found, ours.size(), theirs);
  for (const std::string& end : layout.transposed) {
    if (!entry.name.ends_with(end)) continue;
    check<ValueError>(entry.ours.defined() && entry.shape.rank() == 2 && !entry.moves(),
                      "torch_layout: \"", entry.name, "\" cannot be transposed: it is ",
                      entry.shape, ". Name the ends of names of matrices.");
    entry.transposed = true;
    entry.shape = {entry.shape[1], entry.shape[0]};
    return;
  }
}

std::vector<Entry> entries_of(const Module& root, const TorchLayout& layout) {
  std::vector<Entry> entries;
  std::map<std::string, std::string> prefixes;             // ours to PyTorch's
  std::map<std::string, Shape> images = layout.flattened;  // not found yet
  root.visit([&](const std::string& prefix, const Module& module) {
    const Kind* const kind = kind_of(module);
    const std::string theirs = prefixes.emplace(prefix, "").first->second;
    for (const auto& all : {module.named_parameters(), module.named_buffers()})
      for (const NamedTensor& own : all) {
        const size_t dot = own.name.find('.');
        if (dot != std::string::npos) {  // it belongs to a child: how is that called?
          const std::string child = own.name.substr(0, dot + 1);
          prefixes.emplace(prefix + child, theirs + renamed(kind, child));
          continue;
        }
        Entry entry{.name = theirs + renamed(kind, own.name), .ours = own.tensor};
        entry.shape = own.tensor.shape();
        if (own.name == "weight" && kind && kind->channels_last) {
          entry.split = own.tensor.shape();
          entry.shape = last_to_second(entry.split);
        } else if (const auto image = images.find(prefix.substr(0, prefix.rfind('.')));
                   image != images.end() && own.name == "weight") {
          entry.split = split_of(image->first, module, own.tensor, image->second);
          images.erase(image);
        }
        entries.push_back(std::move(entry));
      }
    if (kind && kind->counts_batches) entries.push_back({.name = theirs + kCounter, .ours = {}});
  });
  check<ValueError>(images.empty(), "torch_layout: there is no module \"",
                    images.empty() ? "" : images.begin()->first,
                    "\" with a weight. Name a Linear module of the model.");
  for (Entry& entry : entries) rename(entry, layout);
  return entries;
}

// "a", "b" and 3 more
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += cat(i == 0 ? "" : ", ", "\"", names[i], "\"");
  return names.size() > kMost ? cat(text, " and ", names.size() - kMost, " more") : text;
}

}  // namespace

std::vector<NamedTensor> torch_state(const Module& module, const TorchLayout& layout) {
  std::vector<NamedTensor> state;
  for (const Entry& entry : entries_of(module, layout))
    state.push_back({entry.name, to_torch(entry)});
  return state;
}

void load_torch_state(const Module& module, std::span<const NamedTensor> state,
                      const TorchLayout& layout) {
  std::map<std::string, Tensor> left;
  for (const NamedTensor& theirs : state) {
    check<ValueError>(theirs.tensor.defined() && left.emplace(theirs.name, theirs.tensor).second,
                      "load_torch_state: \"", theirs.name,
                      "\" is undefined or there twice. Give every tensor once.");
  }
  std::vector<std::pair<Entry, Tensor>> pairs;
  std::vector<std::string> missing, unknown;
  for (Entry& entry : entries_of(module, layout)) {
    const auto found = left.find(entry.name);
    if (found == left.end()) {
      if (entry.ours.defined()) missing.push_back(entry.name);
      continue;
    }
    if (entry.ours.defined()) pairs.emplace_back(std::move(entry), found->second);
    left.erase(found);
  }
  for (const auto& [name, tensor] : left) unknown.push_back(name);
  check<ValueError>(missing.empty(), "load_torch_state: ", missing.size(),
                    " tensors of the model are not there: ", some_of(missing),
                    ". Load the state of the same model.");
  check<ValueError>(unknown.empty(), "load_torch_state: ", unknown.size(),
                    " tensors do not belong to the model: ", some_of(unknown),
                    ". Load the state of the same model.");
  for (const auto& [entry, theirs] : pairs) {
    const bool fits = theirs.shape() == entry.shape &&
                      (theirs.dtype() == entry.ours.dtype() ||
                       (is_floating(theirs.dtype()) && is_floating(entry.ours.dtype())));
    check<ValueError>(fits, "load_torch_state: \"", entry.name, "\" is ", theirs.dtype(), " ",
                      theirs.shape(), " and has to be ", entry.ours.dtype(), " ", entry.shape,
                      ". Load the state of the same model.");
  }
  // What allocates comes first: when memory ends there, nothing has been written yet.
  for (auto& [entry, theirs] : pairs) theirs = from_torch(entry, theirs);
  for (const auto& [entry, values] : pairs) assign(entry.ours, values);
}

}  // namespace plimsoll::nn
