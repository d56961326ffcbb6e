// What holds for a scope.
#pragma once
#include <utility>

namespace cg {

// Neither copied nor moved.
struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

// A variable has another value while this lives; the old one comes back also when an exception passes.
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
