// Arithmetic on small tensors without ATen.
//
// ATen multiplies ten floats in some 500 ns: the products take 5 ns, the allocation of the result takes 140 ns, and
// dispatching takes the rest. In the simple cases the loops here avoid the dispatching.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "kernels/map.h"

namespace cg::few {

// Beyond these elements dispatching takes a small part of the time, and the loops gain nothing.
inline constexpr int64_t kMost = 8192;

// Whether ATen would only compute on this thread: torch does not record, and no tracer or profiler is active.
inline bool nobody_watches() {
  constexpr auto unwatched = c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  return (keys.included_ | unwatched) == unwatched && keys.excluded_.has_all(c10::autograd_dispatch_keyset) &&
         !at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
}
// Whether `t` is an ordinary contiguous tensor of few floats or doubles in main memory.
inline bool takes(const at::Tensor& t) {
  using c10::DispatchKey;
  constexpr auto ordinary = c10::DispatchKeySet(
      {DispatchKey::CPU, DispatchKey::ADInplaceOrView, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU});
  const auto keys = t.key_set();
  return (keys | ordinary) == ordinary && keys.has(DispatchKey::CPU) &&
         (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && t.numel() <= kMost && t.is_contiguous();
}

// A view of the memory of `t`; takes(t) and nobody_watches() must hold. ATen takes ten times as long to make one.
inline at::Tensor view_of(const at::Tensor& t, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  at::Tensor y = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(t.storage()), t.key_set(),
                                                          t.dtype());
  y.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, t.storage_offset() + offset);
  return y;
}

inline at::Tensor view_of(const at::Tensor& t, at::IntArrayRef sizes) {
  c10::DimVector strides(sizes.size());
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1, n = 1; i >= 0; n *= std::max<int64_t>(sizes[i--], 1))
    strides[i] = n;
  return view_of(t, sizes, strides, 0);
}
// The same as at::empty(sizes, like.options()), in half the time.
inline at::Tensor empty(at::IntArrayRef sizes, const at::Tensor& like) {
  if (like.device().is_cpu() && nobody_watches())
    return at::detail::empty_cpu(sizes, like.scalar_type(), /*pin_memory=*/false, std::nullopt);
  return at::empty(sizes, like.options());
}

// Applies f to the elements of tensors of one shape and dtype; returns an undefined tensor if ATen has to compute.
template <class F, class... X>
at::Tensor map(F f, const at::Tensor& x, const X&... xs) {
  [[maybe_unused]] const auto alike = [&](const at::Tensor& t) {
    return takes(t) && t.scalar_type() == x.scalar_type() && t.sizes() == x.sizes();
  };
  if (!takes(x) || !(alike(xs) && ...) || !nobody_watches()) return {};
  return kernels::with_dtype(x, [&]<class T>(T) {
    at::Tensor y = at::detail::empty_cpu(x.sizes(), x.scalar_type(), /*pin_memory=*/false, std::nullopt);
    kernels::map_range(x.numel(), y.mutable_data_ptr<T>(), f, x.const_data_ptr<T>(),
                       xs.template const_data_ptr<T>()...);
    return y;
  });
}

at::Tensor add(const at::Tensor&, const at::Tensor&);
at::Tensor sub(const at::Tensor&, const at::Tensor&);
at::Tensor mul(const at::Tensor&, const at::Tensor&);
at::Tensor div(const at::Tensor&, const at::Tensor&);
at::Tensor neg(const at::Tensor&);
at::Tensor square(const at::Tensor&);
at::Tensor sigmoid_backward(const at::Tensor& gy, const at::Tensor& y);
at::Tensor tanh_backward(const at::Tensor& gy, const at::Tensor& y);

}  // namespace cg::few
