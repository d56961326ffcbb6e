// Which tensors a CPU loop may access by pointers.
#pragma once
#include "kernels/trace.h"

namespace cg::kernels {

// Whether the memory holds the elements themselves, and no tracer is active. Tensors of zeros that torch makes for
// forward differentiation have no memory.
inline bool plain(const at::Tensor& t) {
  constexpr c10::DispatchKeySet kOthers({c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor});
  return t.layout() == at::kStrided && !t.key_set().has_any(kOthers) && !traced(t);
}
// Whether `plain` holds and the elements are floats or doubles in main memory.
inline bool raw(const at::Tensor& t) {
  return (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && t.device().is_cpu() && plain(t);
}
inline bool raw(const at::Tensor& a, const at::Tensor& b) {
  return raw(a) && raw(b) && a.scalar_type() == b.scalar_type();
}

// Calls f(T()) for the dtype of a raw tensor.
template <class F>
decltype(auto) with_dtype(const at::Tensor& t, F&& f) {
  if (t.scalar_type() == at::kFloat) return f(float());
  return f(double());
}

}  // namespace cg::kernels
