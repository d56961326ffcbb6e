// The gradients of leaves of a graph that runs later, kept by a pass so that it can restore them if it fails.
#pragma once
#include <utility>
#include <vector>

#include "core/deferred.h"
#include "core/pointer_map.h"

namespace cg {

// Gradients of leaves before the pass wrote into them; a pass that fails restores them. As the saved tensor then has
// two owners, the first gradient is not added in place.
class LeafGradients {
 public:
  ~LeafGradients() {
    for (auto& [array, content] : kept_) std::swap(static_cast<ArrayContent&>(*array), content);
  }
  void keep(const Ref<Array>& a) {
    // An array that shares its memory is changed in place, so that a kept tensor would not have the old values.
    if (!a->shares() && seen_.insert(a.get()).second) kept_.emplace_back(a, *a);
  }
  void commit() { kept_.clear(); }

 private:
  std::vector<std::pair<Ref<Array>, ArrayContent>> kept_;
  PointerSet<Array> seen_;
};

}  // namespace cg
