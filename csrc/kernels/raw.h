// Which tensors a CPU loop may take by the pointer.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cg::kernels {

// Dense float or double in main memory, and nobody traces (a tracer sees dispatched operations alone).
inline bool raw(const at::Tensor& t) {
  using c10::DispatchKey;
  return (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && t.device().is_cpu() &&
         t.layout() == at::kStrided && !t.key_set().has(DispatchKey::Python) &&
         !c10::impl::tls_local_dispatch_key_set().included_.has_any(c10::DispatchKeySet(
             {DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::FuncTorchDynamicLayerFrontMode}));
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
