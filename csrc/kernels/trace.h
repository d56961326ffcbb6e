// Support for tracers (make_fx, torch.export and others).
//
// Tracers record dispatched operations. Values that a loop reads or writes through a pointer, and values computed from
// them on the host, would be constants in their graphs.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/lift_fresh.h>
#include <ATen/ops/tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cg::kernels {

// Whether a tracer is active on this thread.
inline bool traced() {
  using c10::DispatchKey;
  return c10::impl::tls_local_dispatch_key_set().included_.has_any(
      c10::DispatchKeySet({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::FuncTorchDynamicLayerFrontMode,
                           DispatchKey::Tracer}));
}
// Whether `t` is a tracer's proxy for a tensor, which may have no data.
inline bool symbolic(const at::Tensor& t) { return t.defined() && t.key_set().has(c10::DispatchKey::Python); }
inline bool traced(const at::Tensor& t) { return symbolic(t) || traced(); }

// Set from Python while compatgrad's own tracer runs.
extern thread_local bool tracing;
// Whether a graph is made from the operations of this thread. A mode that only observes, such as FlopCounterMode, makes
// none.
bool written_down();

// For functions that read values on the host: raises NotImplementedError under a tracer.
template <class... T>
void reads_values(const char* function, const T&... tensors) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !(symbolic(tensors) || ...) && !(traced() && written_down()), function,
      ": reads values of its inputs on the host, which tracers (make_fx, torch.export, interop.export) cannot record; "
      "call it outside the traced function");
}

// Runs f() without tracers seeing it, on tensors that are constants for them.
template <class F>
auto untraced(F&& f) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::Functionalize}));
  return f();
}

// A tensor of given numbers, which is a constant for a tracer.
template <class T>
at::Tensor constant(const T& numbers, at::ScalarType dtype) {
  const at::Tensor t = untraced([&] { return at::tensor(numbers, dtype); });
  return traced() ? at::lift_fresh(t) : t;
}

}  // namespace cg::kernels
