// The functions that read a deferred variable.
#pragma once
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace cg {

struct FunctionNode;

// A few functions are kept in a list without allocations, many in a table: if a program uses a variable in each of
// 100,000 steps, the end of each of these functions would otherwise search through a list of them all.
class Users {
 public:
  void add(FunctionNode& f) {
    if (many_) {
      if (many_->emplace(&f, next_).second) ++next_;
      return;
    }
    if (std::any_of(few_.begin(), few_.end(), [&](auto& u) { return u.first == &f; })) return;
    few_.emplace_back(&f, next_++);
    if (few_.size() <= kFew) return;
    many_ = std::make_unique<Table>(few_.begin(), few_.end());
    few_.clear();
  }
  void remove(FunctionNode& f) {
    if (many_) {
      many_->erase(&f);
      return;
    }
    const auto found = std::find_if(few_.begin(), few_.end(), [&](auto& u) { return u.first == &f; });
    if (found == few_.end()) return;
    *found = few_.back();
    few_.pop_back();
  }
  bool empty() const { return many_ ? many_->empty() : few_.empty(); }
  // Whether matches(function) is true for one of them.
  template <class Matches>
  bool any(Matches&& matches) const {
    const auto is = [&](auto& u) { return matches(*u.first); };
    return many_ ? std::any_of(many_->begin(), many_->end(), is) : std::any_of(few_.begin(), few_.end(), is);
  }
  // Calls visit(function, number) for all, in any order; the numbers increase in the order in which they were added.
  template <class Visit>
  void each(Visit&& visit) const {
    if (many_)
      for (auto& [f, number] : *many_) visit(*f, number);
    else
      for (auto& [f, number] : few_) visit(*f, number);
  }

 private:
  using Table = std::unordered_map<FunctionNode*, uint64_t>;
  static constexpr size_t kFew = 8;
  c10::SmallVector<std::pair<FunctionNode*, uint64_t>, 2> few_;
  std::unique_ptr<Table> many_;
  uint64_t next_ = 0;
};

}  // namespace cg
