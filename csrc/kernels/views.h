// Views of ordinary tensors without ATen, which takes ten times as long to make one.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

namespace cg::kernels {

// Whether ATen would only compute on this thread: torch does not record, and no tracer or profiler is active.
inline bool nobody_watches() {
  constexpr auto unwatched = c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  return (keys.included_ | unwatched) == unwatched && keys.excluded_.has_all(c10::autograd_dispatch_keyset) &&
         !at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
}
// Whether `t` is an ordinary tensor of floats or doubles in main memory, with any strides.
inline bool strided(const at::Tensor& t) {
  using c10::DispatchKey;
  constexpr auto ordinary = c10::DispatchKeySet(
      {DispatchKey::CPU, DispatchKey::ADInplaceOrView, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU});
  const auto keys = t.key_set();
  return (keys | ordinary) == ordinary && keys.has(DispatchKey::CPU) &&
         (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble);
}
// Whether it is contiguous, too.
inline bool ordinary(const at::Tensor& t) { return strided(t) && t.is_contiguous(); }
// A view of memory of `t`, for which strided(t) holds and nobody watches.
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
// x.expand(sizes); an undefined tensor if ATen has to make it.
inline at::Tensor expanded(const at::Tensor& x, at::IntArrayRef sizes) {
  const size_t n = x.dim(), lead = sizes.size() - n;
  if (n > sizes.size() || std::any_of(sizes.begin(), sizes.end(), [](int64_t k) { return k < 0; }) || !ordinary(x) ||
      !nobody_watches())
    return {};
  c10::DimVector strides(sizes.size(), 0);
  for (size_t i = 0; i < n; ++i) {
    const bool same = x.size(i) == sizes[lead + i];
    if (!same && x.size(i) != 1) return {};
    strides[lead + i] = same ? x.stride(i) : 0;
  }
  return view_of(x, sizes, strides, 0);
}
// t.t(), for a matrix.
inline at::Tensor turned(const at::Tensor& t) {
  if (!ordinary(t) || !nobody_watches()) return t.t();
  return view_of(t, {t.size(1), t.size(0)}, {t.stride(1), t.stride(0)}, 0);
}
// The first rows of t.
inline at::Tensor first_rows(const at::Tensor& t, int64_t rows) {
  if (!ordinary(t) || !nobody_watches()) return t.narrow(0, 0, rows);
  c10::DimVector sizes(t.sizes());
  sizes[0] = rows;
  return view_of(t, sizes, t.strides(), 0);
}

}  // namespace cg::kernels
