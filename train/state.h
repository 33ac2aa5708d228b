// State: everything that the next batch of a training depends on, under names, to be saved and to
// be restored in place.
//
//   int64_t batches = 0;
//   train::State state;
//   state.tensors("", model.named_parameters()).tensors("", model.named_buffers());
//   state.tensors("optimizer.", optimizer.state());
//   state.number("batches", batches);
//   state.same("model", "lenet");                      // a file of another model is refused
//   train::write_state("now.safetensors", state.copy());
//   state.restore("now.safetensors");                  // another process: the same bits from here
//
// The file is in the format safetensors: weights under the names of the module, so that Python
// reads them; everything else under a prefix; numbers as tensors of one element. Its metadata has
// what has to agree, and a checksum of all names, types, shapes and bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "formats/shards.h"
#include "optim/ranks/shards.h"

namespace plimsoll::train {

// A state as it was at one moment: in host memory of its own, whatever training does meanwhile.
struct StateCopy {
  std::vector<formats::NamedTensor> tensors;
  formats::Metadata metadata;
};

// What was another when the file was saved: see State::may_change().
struct Changed {
  std::string name, before, now;
};

class State {
 public:
  // `named`: pairs of a name and a tensor, which is kept as a handle, or a tensor that ranks share:
  // then all of them call copy() together. With a condition they are saved where it holds then, and
  // restored where the file has them. ValueError for a name twice.
  template <class Named>
  State& tensors(const std::string& prefix, const Named& named,
                 const std::function<bool()>& condition = {}) {
    for (const auto& [name, tensor] : named) add({prefix + name, tensor, condition});
    return *this;
  }
  // Kept by reference.
  State& number(const std::string& name, int64_t& value) { return add({name, &value, {}}); }
  State& number(const std::string& name, double& value) { return add({name, &value, {}}); }
  // What the file must have been saved with too, and what to call it. Of fingerprints
  // (train/batches.h) only the name is said.
  State& same(const std::string& name, std::string value);
  // What may be another than in the file. The tensors under the prefix `anew` then stay as they
  // are, whether the file has such or not, and restore() says what has changed. Only a file with
  // tensors under `made_with`, which mean something else now, is refused. A file that does not say
  // what it was counts as the same.
  State& may_change(const std::string& name, std::string value, std::string anew,
                    std::string made_with);
  // What may be another and means nothing for any tensor: restore() says that it has changed.
  State& noted(const std::string& name, std::string value);

  // Who of `ranks` ranks that save together saves what: whole tensors that were added one after
  // another, about as many bytes each, at most the largest tensor more.
  struct Share {
    std::string name;
    int64_t bytes, rank;
    bool saved;  // now: its condition holds
  };
  std::vector<Share> shares(int64_t ranks) const;
  // What a copy takes at most, in bytes.
  int64_t bytes(int64_t rank = 0, int64_t ranks = 1) const;
  // Of what that rank saves. From the current allocator of the CPU, and beside it one tensor at a
  // time that ranks share and another saves. OutOfMemory.
  StateCopy copy(int64_t rank = 0, int64_t ranks = 1) const;
  // From a file, or an index of several (formats/shards.h). Errors, before anything is changed:
  // DataError (as check_whole(), and for a file with other names, types or shapes: naming the
  // first), UsageError naming what does not agree.
  std::vector<Changed> restore(const std::filesystem::path& file) const;

 private:
  using Place = std::variant<Tensor, optim::SharedTensor, int64_t*, double*>;
  struct Entry {
    std::string name;
    Place place;
    std::function<bool()> condition;  // empty: always
  };
  struct Changeable {
    std::string name, anew, made_with;
  };
  State& add(Entry entry);
  static Meta meta_of(const Entry& entry);  // in host memory
  // `anew`: prefixes of what the file need not have, and may have otherwise.
  void check_fits(const formats::Shards& file, const std::string& name,
                  const std::vector<std::string>& anew) const;

  std::vector<Entry> entries_;
  formats::Metadata same_, noted_, changeable_values_;
  std::vector<Changeable> changeable_;
};

// Not atomically: see Saves. DataError.
void write_state(const std::filesystem::path& file, const StateCopy& copy);

// Whether that is what write_state() writes, by its metadata.
bool is_state(const formats::Safetensors& file);

// DataError unless `file`, or each that an index names, is what write_state() wrote, to the last
// bit.
void check_whole(const std::filesystem::path& file);

}  // namespace plimsoll::train
