// Arithmetic and views without ATen, for ordinary tensors.
//
// ATen multiplies ten floats in some 500 ns: the products take 5 ns, the allocation of the result takes 140 ns, and
// dispatching takes the rest. Of many numbers ATen takes as long as the loops here, but for each of its functions the
// system maps up to half a megabyte of torch's code at the first call.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "kernels/map.h"
#include "kernels/views.h"

namespace cg::few {

// Few numbers: those of which dispatching takes a large part of the time.
inline constexpr int64_t kMost = 8192;

using kernels::expanded;
using kernels::nobody_watches;
using kernels::ordinary;
using kernels::strided;
using kernels::view_of;

inline bool takes(const at::Tensor& t) { return t.numel() <= kMost && ordinary(t); }
// The same as at::empty(sizes, like.options()), in half the time.
inline at::Tensor empty(at::IntArrayRef sizes, const at::Tensor& like) {
  if (like.device().is_cpu() && nobody_watches())
    return at::detail::empty_cpu(sizes, like.scalar_type(), /*pin_memory=*/false, std::nullopt);
  return at::empty(sizes, like.options());
}

// Whether the tensors have the shape and dtype of y, and the loops may read them.
template <class... X>
bool alike(const at::Tensor& y, const X&... xs) {
  return ((ordinary(xs) && xs.scalar_type() == y.scalar_type() && xs.sizes() == y.sizes()) && ...);
}
namespace detail {
template <class F, class... X>
void loop(F f, const at::Tensor& y, const X&... xs) {
  kernels::with_dtype(y, [&]<class T>(T) {
    [&](T* to, const auto*... from) {
      kernels::in_threads(y.numel(), kernels::kGrain, [&](int64_t begin, int64_t end) {
        kernels::map_range(end - begin, to + begin, f, (from + begin)...);
      });
    }(y.mutable_data_ptr<T>(), xs.template const_data_ptr<T>()...);
  });
}
}  // namespace detail

// Writes f of the elements into y, which may be one of xs; false: ATen has to compute.
template <class F, class... X>
bool map_into(F f, const at::Tensor& y, const X&... xs) {
  if (!ordinary(y) || !alike(y, xs...) || !nobody_watches()) return false;
  detail::loop(f, y, xs...);
  return true;
}
// Applies f to the elements of tensors of one shape and dtype; returns an undefined tensor if ATen has to compute.
template <class F, class... X>
at::Tensor map(F f, const at::Tensor& x, const X&... xs) {
  if (!ordinary(x) || !alike(x, xs...) || !nobody_watches()) return {};
  at::Tensor y = at::detail::empty_cpu(x.sizes(), x.scalar_type(), /*pin_memory=*/false, std::nullopt);
  detail::loop(f, y, x, xs...);
  return y;
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
