// Classes whose effect lasts until the end of a scope.
#pragma once
#include <utility>

namespace cg {

// Can be neither copied nor moved.
struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

// Gives a variable another value until the end of a scope; the old value is restored even after an exception.
template <class T>
class Setting : Pinned {
 public:
  Setting(T& slot, T value) : slot_(slot), old_(std::exchange(slot, std::move(value))) {}
  ~Setting() { slot_ = std::move(old_); }

 private:
  T& slot_;
  T old_;
};

}  // namespace cg
