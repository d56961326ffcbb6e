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
  LeafGradients() = default;
  LeafGradients(const LeafGradients&) = delete;
  LeafGradients& operator=(const LeafGradients&) = delete;
  ~LeafGradients() {
    for (auto& old : kept_) {
      Array& a = *old.array;
      std::swap(a.tensor, old.tensor);
      a.fill_value = old.fill_value;
      a.zeroing = old.zeroing, a.touched = old.touched, a.cleared = old.cleared, a.computed = old.computed;
    }
  }
  void keep(const Ref<Array>& a) {
    if (a->shares() || !seen_.insert(a.get()).second) return;  // parts of one memory are written in place
    kept_.push_back({a, a->tensor, a->fill_value, a->zeroing, a->touched, a->cleared, a->computed});
  }
  void commit() { kept_.clear(); }

 private:
  struct Old {
    Ref<Array> array;
    at::Tensor tensor;
    double fill_value;
    bool zeroing, touched, cleared, computed;
  };
  std::vector<Old> kept_;
  PointerSet<Array> seen_;
};

}  // namespace cg
