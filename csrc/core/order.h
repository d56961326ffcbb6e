// The orders in which passes visit functions. Backpropagation: each function once, the largest rank first, among equal
// ranks the one that was pushed first.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "core/function.h"
#include "core/pointer_map.h"

namespace cg {

// Whether x, to which a function of a pass has just given a gradient, gets none from another function, and its creator
// only gives gradients to leaves, by a formula of its own. `held`: the references of the visit, its function and the
// gradient.
inline bool alone(const VariableNode& x, uint32_t held) {
  const FunctionNode& f = *x.creator;
  return x.refs == held && !x.variable && f.outputs.size() == 1 && f.info() && !f.info()->override_backward &&
         !f.python && !f.hooks && !f.call &&
         std::none_of(f.inputs.begin(), f.inputs.end(), [](const auto& i) { return i && i->creator; });
}

class Order {
 public:
  // `next`: before all others, so that the gradient of an `alone` variable does not wait in memory until the pass has
  // come to the functions of the least rank: those of an LSTM's inputs would wait for the first step.
  void push(FunctionNode* f, bool next = false) {
    if (f->rank >= rank_) remember_ = true;  // perhaps a cycle, in which a pass would never end
    const auto [place, first] = places_.insert(f);
    if (!first) return;
    *place = turns_.size();
    heap_.push_back({next ? kNext : f->rank, *place});
    std::push_heap(heap_.begin(), heap_.end());
    turns_.push_back({Ref<FunctionNode>(f)});
  }
  // Calls `visit` for every function; `visit` pushes the creators of the function's inputs. If `visit` runs user code,
  // it must hold references to what it needs.
  template <class Visit>
  void run(Visit&& visit) {
    while (!heap_.empty()) {
      // A signal handler may read gradients, so those that wait for their values would have to be computed before it
      // runs. The check for signals is put off instead, at most 63 times in a row.
      if ((slow_ || ++visits_ % 16 == 0) && !(unread_gradients && ++kept_waiting_ < 64)) {
        binding.check_signals();
        slow_ = false;
        kept_waiting_ = 0;
      }
      std::pop_heap(heap_.begin(), heap_.end());
      if (heap_.back().rank != kNext) rank_ = heap_.back().rank;
      Turn& turn = turns_[heap_.back().place];
      heap_.pop_back();
      const Ref<FunctionNode> f = remember_ ? turn.function : std::move(turn.function);
      turn.over = true;
      if (!remember_) {
        places_.take(f.get());
        if (heap_.empty()) turns_.clear();
      }
      visit(*f);
    }
  }
  // From now on the order remembers which functions were visited. Without this, only user code that rewires the graph
  // can make a pass visit a function twice.
  void remember() { remember_ = true; }
  void slow() { slow_ = true; }  // this visit takes long: Ctrl-C is checked for after it
  bool met(const FunctionNode* f) const { return places_.contains(f); }
  bool over(const FunctionNode* f) const {  // whether f is being visited or was visited
    const uint32_t* place = places_.find(f);
    return place && turns_[*place].over;
  }

 private:
  static constexpr int32_t kNext = std::numeric_limits<int32_t>::max();
  struct Entry {
    int32_t rank;
    uint32_t place;
    bool operator<(const Entry& o) const { return rank != o.rank ? rank < o.rank : place > o.place; }
  };
  struct Turn {
    Ref<FunctionNode> function;  // owned, so that no other function gets its address
    bool over = false;
  };
  std::vector<Entry> heap_;
  std::vector<Turn> turns_;  // in the order they were pushed
  PointerMap<FunctionNode, uint32_t> places_;
  unsigned visits_ = 0, kept_waiting_ = 0;
  int32_t rank_ = std::numeric_limits<int32_t>::max();  // of the function that is being visited
  bool slow_ = false, remember_ = false;
};

// Forward: depth first from `root` on, inputs in their order, each function after those it depends on. enters(x):
// whether the walk continues to the creator of x. F: the pointer type that holds the functions on the way.
template <class F, class Enters, class Visit>
void inputs_first(F root, Enters&& enters, Visit&& visit) {
  std::vector<std::pair<F, size_t>> path;
  path.emplace_back(std::move(root), 0);
  while (!path.empty()) {
    auto& [f, next] = path.back();
    if (next < f->inputs.size()) {
      const auto& x = f->inputs[next++];
      if (x && enters(*x)) path.emplace_back(F(x->creator.get()), 0);
      continue;
    }
    const F done = std::move(f);
    path.pop_back();
    visit(*done);
  }
}

}  // namespace cg
