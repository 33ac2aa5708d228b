// Attrs: the constants of one applied op, a plain struct with designated initialisers.
//
//   struct Pool2dAttrs {
//     int64_t window = 2, stride = 2;
//     bool operator==(const Pool2dAttrs&) const = default;
//   };
//   apply(max_pool2d_op, {x}, Pool2dAttrs{.window = 3});
//   attrs.as<Pool2dAttrs>().window
//
// They can be compared, so that two programs can. Anything that changes from step to step must be
// a tensor instead: a captured step keeps its attributes for ever.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <typeinfo>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace plimsoll {

class Attrs {
 public:
  Attrs() = default;

  template <std::equality_comparable T>
  requires(!std::same_as<T, Attrs>) Attrs(T value)  // NOLINT: meant to convert
      : data_(std::make_shared<const T>(std::move(value))), type_(&kType<T>) {}

  template <class T>
  const T& as() const {
    check<StateError>(type_ == &kType<T>, "attrs: asked for ", typeid(T).name(),
                      " but the op holds another type. Read the struct the op was applied with.");
    return *static_cast<const T*>(data_.get());
  }

  friend bool operator==(const Attrs& a, const Attrs& b) {
    return a.type_ == b.type_ && (!a.type_ || a.type_->equal(a.data_.get(), b.data_.get()));
  }

  // Of the bytes of the values, in each process the same; nothing where they own memory.
  std::optional<uint64_t> hash() const { return type_ ? type_->hash(data_.get()) : kFnvStart; }

 private:
  struct Type {
    bool (*equal)(const void*, const void*);
    std::optional<uint64_t> (*hash)(const void*);
  };
  template <class T>
  static bool are_equal(const void* a, const void* b) {
    return *static_cast<const T*>(a) == *static_cast<const T*>(b);
  }
  template <class T>
  static std::optional<uint64_t> hash_of(const void* data) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      T copy = *static_cast<const T*>(data);
      __builtin_clear_padding(&copy);
      return fnv1a(std::as_bytes(std::span(&copy, 1)));
    } else {
      return std::nullopt;
    }
  }
  template <class T>
  static constexpr Type kType{are_equal<T>, hash_of<T>};

  std::shared_ptr<const void> data_;
  const Type* type_ = nullptr;
};

}  // namespace plimsoll
