// What tracers (make_fx, torch.export and their kin) do not see, and what the engine does about it.
//
// They write down dispatched operations. What a loop reads or writes by a pointer, and what is computed from it on the
// host, would stand in their graphs as constants.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/lift_fresh.h>
#include <ATen/ops/tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cg::kernels {

// Whether somebody traces this thread.
inline bool traced() {
  using c10::DispatchKey;
  return c10::impl::tls_local_dispatch_key_set().included_.has_any(
      c10::DispatchKeySet({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::FuncTorchDynamicLayerFrontMode,
                           DispatchKey::Tracer}));
}
// Whether `t` stands for a tensor in a trace: it may have no data.
inline bool symbolic(const at::Tensor& t) { return t.defined() && t.key_set().has(c10::DispatchKey::Python); }
inline bool traced(const at::Tensor& t) { return symbolic(t) || traced(); }

// Set by the Python side around a tracer of its own.
extern thread_local bool tracing;
// Whether a graph is made of what this thread computes: a mode that only watches, as FlopCounterMode, makes none.
bool written_down();

// For functions that read values on the host: NotImplementedError where that is traced.
template <class... T>
void reads_values(const char* function, const T&... tensors) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !(symbolic(tensors) || ...) && !(traced() && written_down()), function,
      ": reads values of its inputs on the host, so that no graph of operations can stand for it and tracers (make_fx, "
      "torch.export, interop.export) cannot follow; call it outside of what is traced");
}

// Runs f() unseen by tracers, on tensors that are constants to them.
template <class F>
auto untraced(F&& f) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::Functionalize}));
  return f();
}

// Numbers that the engine knows as a tensor, a constant of a trace.
template <class T>
at::Tensor constant(const T& numbers, at::ScalarType dtype) {
  const at::Tensor t = untraced([&] { return at::tensor(numbers, dtype); });
  return traced() ? at::lift_fresh(t) : t;
}

}  // namespace cg::kernels
