// The gradients of leaves of a graph that runs later, for a pass that may fail.
#pragma once
#include <utility>
#include <vector>

#include "core/deferred.h"
#include "core/pointer_map.h"

namespace cg {

// What a pass puts back where it fails: the gradients of leaves, as they were before it wrote there. The tensor that is
// kept has two holders, so the first gradient is not added in place.
class LeafGradients {
 public:
  ~LeafGradients() {
    for (auto& [array, content] : kept_) std::swap(static_cast<ArrayContent&>(*array), content);
  }
  void keep(const Ref<Array>& a) {
    if (!a->shares() && seen_.insert(a.get()).second) kept_.emplace_back(a, *a);  // parts of one memory change in place
  }
  void commit() { kept_.clear(); }

 private:
  std::vector<std::pair<Ref<Array>, ArrayContent>> kept_;
  PointerSet<Array> seen_;
};

}  // namespace cg
