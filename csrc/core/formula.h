// What a pass does before and around a function's backward formula.
#pragma once
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/arithmetic.h"

namespace cg {

// An old-style function's gradients have no history: differentiating them again would give wrong results silently.
inline void check_old_style(const VariableNode& x) {
  if (x.old_style_generator)
    throw std::runtime_error("cannot twice-differentiate an old style Function \"" + *x.old_style_generator + "\"");
}

[[noreturn]] inline void throw_released() {
  throw ReleasedGraph("an earlier backward pass has freed this graph; a pass with retain_graph keeps it");
}
inline void check_released(const VariableNode& x) {
  if (x.creator && x.creator->released) throw_released();
}

// The creator of x, or null. A creator that does not point to x raises an error, because the gradient of x would
// silently be lost.
inline FunctionNode* creator_of(const VariableNode& x) {
  FunctionNode* f = x.creator.get();
  if (f && !f->call && (x.output_index >= f->outputs.size() || f->outputs[x.output_index].node != &x))
    throw std::runtime_error(binding.label(*f) + ": the function was applied again since, and has other outputs now");
  return f;
}

inline Var zeros_of(const VariableNode& x) {
  return Var(at::zeros(x.sizes, at::TensorOptions().dtype(x.dtype).device(x.device)));
}

// Runs the formula of `f`, which is written for real numbers. The gradient of a complex function, as torch defines it,
// is the conjugate of the formula's result for the conjugate gradient; functions for which this is wrong are refused
// when they are recorded.
template <class T>
void run_formula(FunctionNode& f, c10::SmallVectorImpl<T>& gys, c10::SmallVectorImpl<T>& gxs,
                 c10::ArrayRef<bool> wanted, const Snapshot* kept = nullptr, GradientSink* sink = nullptr) {
  const bool complex = f.info() && std::any_of(gys.begin(), gys.end(),
                                               [](const T& g) { return value(g).defined() && value(g).is_complex(); });
  const auto conjugate = [&](c10::SmallVectorImpl<T>& gs) {
    for (T& g : gs)
      if (complex && value(g).defined()) g = conj(g);
  };
  conjugate(gys);
  {
    // A part or rows that wait would not be conjugated afterwards.
    Ctx<T> c(f, gys, gxs, wanted, kept, complex ? nullptr : sink);
    f.backward(c);
  }
  conjugate(gxs);
}

// A native backward reads the inputs that its function had when the visit began, even if a hook has cut the function
// off.
struct Whole {
  FunctionNode& f;
  const bool cut;
  Whole(FunctionNode& g, const Nodes& inputs) : f(g), cut(g.inputs.size() != inputs.size()) {
    if (cut) f.inputs = inputs;
  }
  ~Whole() {
    if (cut) const Nodes again = std::exchange(f.inputs, Nodes());
  }
};

}  // namespace cg
