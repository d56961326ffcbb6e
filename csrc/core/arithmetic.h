// The arithmetic that the engine itself needs. csrc/ops implements it.
#pragma once
#include "core/function.h"

namespace cg {

// The tensor of a gradient, whether the gradient is a tensor or a Var.
inline const at::Tensor& value(const at::Tensor& t) { return t; }
inline const at::Tensor& value(const Var& v) { return v.data; }

// ---- arith.cpp, choices.cpp -----------------------------------------------------------------------------------------
Var add_n(VarsRef);
// Sums from left to right, in one pass over memory where that is faster. `into_first`: the first buffer may be
// overwritten.
at::Tensor sum_gradients(c10::ArrayRef<at::Tensor> gs, bool into_first);
// Whether nobody else refers to a gradient's buffer, so that a plain pass may write the next gradient into it.
bool may_overwrite(const at::Tensor& g);
// Whether a tensor's memory comes from torch's allocator: other memory may belong to an array of another library.
bool in_own_memory(const at::Tensor& t);
bool has_nan(const at::Tensor&);
at::Tensor conj(const at::Tensor&);
Var conj(const Var&);

// ---- shape.cpp: gives a gradient the shape and dtype of the input it belongs to -------------------------------------
at::Tensor fit_slow(at::Tensor g, at::IntArrayRef sizes, at::ScalarType dtype);
Var fit_slow(Var g, at::IntArrayRef sizes, at::ScalarType dtype);
template <class T>
T fit(T g, at::IntArrayRef sizes, at::ScalarType dtype) {
  const at::Tensor& t = value(g);
  if (t.sizes() == sizes && t.scalar_type() == dtype) return g;
  return fit_slow(std::move(g), sizes, dtype);
}
template <class T>
T fit(T g, const VariableNode& x) {
  return fit(std::move(g), x.sizes, x.dtype);
}
// Gives all gradients of a function's inputs the shapes and dtypes of these inputs.
template <class T>
void fit_all(c10::SmallVectorImpl<T>& gs, NodesRef inputs) {
  for (size_t i = 0; i < gs.size(); ++i)
    if (value(gs[i]).defined() && inputs[i]) gs[i] = fit(std::move(gs[i]), *inputs[i]);
}

}  // namespace cg
