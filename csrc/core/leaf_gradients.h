// What a backward pass over deferred functions keeps besides the gradients in the arrays of its graph.
#pragma once
#include <utility>
#include <vector>

#include "core/deferred.h"
#include "core/rows.h"

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

struct Collected : Pinned {
  const bool joins;  // whether no code can read gradients while the pass runs, so that rows may wait
  std::vector<std::pair<Ref<VariableNode>, at::Tensor>> crossing;  // gradients of variables in the graph that runs at
                                                                   // once
  LeafGradients leaves;
  explicit Collected(bool j) : joins(j) {}

  void compute_rows() {
    rows_.compute_all([](VariableNode& x) { return Into{*x.deferred->store->grad}; });
  }
  // Lets rows wait that would be added to the gradient that a leaf already has.
  struct Sink final : GradientSink {
    Collected& collected;
    const Nodes& inputs;
    c10::ArrayRef<bool> accum;  // whether the gradient of an input is added to
    Mask later;                 // the inputs of which rows wait
    Sink(Collected& c, const Nodes& in, c10::ArrayRef<bool> a) : collected(c), inputs(in), accum(a) {}
    bool keep_rows(size_t i, RowSum sum, const at::Tensor& a, const at::Tensor& b) override {
      VariableNode& x = *inputs[i];
      if (x.creator || !x.deferred || !accum[i]) return false;
      Array& grad = *x.deferred->store->grad;
      if (!has_numbers(grad)) return false;
      // nnabla makes a new Variable at each use of a parameter; all of them have one gradient.
      if (!collected.rows_.join(x, &grad, sum, a, b, Into{grad})) return false;
      later |= in_bit(i);
      return true;
    }
  };

 private:
  // Whether the array has a gradient to which the next one is added; otherwise the next one replaces its numbers.
  static bool has_numbers(const Array& grad) {
    return grad.tensor.defined() && grad.touched && !grad.zeroing && !grad.cleared;
  }
  // Takes sums of rows: adds them to a leaf's gradient, or gives them its memory.
  struct Into {
    Array& grad;
    void add(at::Tensor g) { accumulate(grad, std::move(g), false); }
    at::Tensor changeable() {
      return has_numbers(grad) && grad.tensor.is_contiguous() && may_overwrite(grad.tensor) ? grad.write()
                                                                                            : at::Tensor();
    }
  };
  RowsOfLeaves rows_;
};

}  // namespace cg
