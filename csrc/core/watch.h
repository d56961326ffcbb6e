// Tells when the gradients of some leaves are final while the rest of a pass still runs, so that processes can exchange
// these gradients meanwhile.
#pragma once
#include <functional>
#include <vector>

#include "core/door.h"
#include "core/function.h"
#include "core/pointer_map.h"

namespace cg {

class LeafWatch : Pinned {
 public:
  using Told = std::function<void(size_t leaf, const Var& gradient)>;
  // `told` is called once for each leaf that gets a gradient from the last function that reads it. The other leaves,
  // such as those behind a function that the pass does not reach, are never told.
  LeafWatch(Nodes leaves, Told told) : leaves_(std::move(leaves)), told_(std::move(told)), left_(leaves_.size()) {
    for (size_t i = 0; i < leaves_.size(); ++i) *places_.insert(leaves_[i].get()).first = i;
  }

  // Counts the functions behind `outputs` that read the leaves.
  void count(VarsRef outputs) {
    PointerSet<FunctionNode> seen;
    std::vector<FunctionNode*> todo;
    const auto meet = [&](FunctionNode* f) {
      if (f && seen.insert(f).second) todo.push_back(f);
    };
    for (const Var& y : outputs) meet(y.node->creator.get());
    while (!todo.empty()) {
      FunctionNode* f = todo.back();
      todo.pop_back();
      for (auto& x : f->inputs) {
        if (!x || !x->requires_grad) continue;
        meet(x->creator.get());
        const size_t* place = places_.find(x.get());
        if (!place) continue;
        auto& read = *readers_.insert(f).first;
        if (std::find(read.begin(), read.end(), *place) != read.end()) continue;
        read.push_back(*place);
        ++left_[*place];
      }
    }
  }
  // After the visit of f. `sum(x)` gives the gradient of x so far, undefined if there is none.
  template <class Sum>
  void visited(const FunctionNode& f, Sum&& sum) {
    for (size_t i : readers_.take(&f)) {
      if (--left_[i]) continue;
      if (const Var g = sum(*leaves_[i]); g.defined()) user_code(told_, i, g);
    }
  }
  // Called before a gradient is added to x.
  void adds(const VariableNode& x) const {
    const size_t* place = places_.find(&x);
    if (place && !left_[*place])
      throw std::runtime_error(
          "a gradient reaches a parameter after the gradients of all functions that read it; a hook has changed the "
          "graph while processes exchange gradients");
  }

 private:
  const Nodes leaves_;
  const Told told_;
  std::vector<size_t> left_;  // for each leaf: the functions that read it and were not visited yet
  PointerMap<VariableNode, size_t> places_;
  PointerMap<FunctionNode, c10::SmallVector<size_t, 2>> readers_;
};

}  // namespace cg
