// Which tensors a CPU loop may take by the pointer.
#pragma once
#include "kernels/trace.h"

namespace cg::kernels {

// Memory that holds the elements as they are, and nobody traces.
inline bool plain(const at::Tensor& t) {
  return t.layout() == at::kStrided && !t.key_set().has(c10::DispatchKey::Negative) && !traced(t);
}
// The same in main memory, of float or double.
inline bool raw(const at::Tensor& t) {
  return (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && t.device().is_cpu() && plain(t);
}
inline bool raw(const at::Tensor& a, const at::Tensor& b) {
  return raw(a) && raw(b) && a.scalar_type() == b.scalar_type();
}

// Runs f(T()) for the dtype of a raw tensor.
template <class F>
decltype(auto) with_dtype(const at::Tensor& t, F&& f) {
  if (t.scalar_type() == at::kFloat) return f(float());
  return f(double());
}

}  // namespace cg::kernels
