// Arithmetic of few numbers.
//
// ATen multiplies ten floats in some 500 ns, of which the products take 5 and the memory of the result 140; the rest
// goes into finding out what to do. Where that is plain, the loop is here.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "kernels/map.h"

namespace cg::few {

// From about 2000 elements on ATen's vector code makes up for its start.
inline constexpr int64_t kMost = 1024;

// Whether ATen would do nothing but compute on this thread: torch records nothing, and nobody traces or measures.
inline bool nobody_watches() {
  constexpr auto unwatched = c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  return (keys.included_ | unwatched) == unwatched && keys.excluded_.has_all(c10::autograd_dispatch_keyset) &&
         !at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
}
// Whether `t` is an ordinary tensor of few floats or doubles, one after the other in main memory.
inline bool takes(const at::Tensor& t) {
  using c10::DispatchKey;
  constexpr auto ordinary = c10::DispatchKeySet(
      {DispatchKey::CPU, DispatchKey::ADInplaceOrView, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU});
  const auto keys = t.key_set();
  return (keys | ordinary) == ordinary && keys.has(DispatchKey::CPU) &&
         (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && t.numel() <= kMost && t.is_contiguous();
}

// f of the elements of tensors of one shape and dtype; undefined where ATen has to compute.
template <class F, class... X>
at::Tensor map(F f, const at::Tensor& x, const X&... xs) {
  const auto alike = [&](const at::Tensor& t) {
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

}  // namespace cg::few
