// Element-wise loops for any number of elements. ATen takes as long, but for each of its functions the system maps up
// to half a megabyte of torch's code at the first call.
#pragma once
#include "ops/few.h"

namespace cg {

// Whether `t` is an ordinary contiguous tensor of floats or doubles in main memory, and a call of ATen would be neither
// recorded nor traced nor profiled.
inline bool own_loops_take(const at::Tensor& t) {
  return kernels::raw(t) && t.is_contiguous() && few::nobody_watches();
}

// Writes f of the elements of `xs` into y, which may be one of them. Returns false, and writes nothing, if ATen has to
// compute.
template <class F, class... X>
bool map_into(F f, const at::Tensor& y, const X&... xs) {
  const auto alike = [&](const at::Tensor& t) {
    return kernels::raw(y, t) && t.is_contiguous() && t.sizes() == y.sizes();
  };
  if (!own_loops_take(y) || !(alike(xs) && ...)) return false;
  kernels::with_dtype(y, [&]<class T>(T) {
    [&](T* to, const auto*... from) {
      kernels::in_threads(y.numel(), kernels::kGrain, [&](int64_t begin, int64_t end) {
        kernels::map_range(end - begin, to + begin, f, (from + begin)...);
      });
    }(y.mutable_data_ptr<T>(), xs.template const_data_ptr<T>()...);
  });
  return true;
}
template <class F, class... X>
at::Tensor map_all(F f, const at::Tensor& x, const X&... xs) {
  if (!own_loops_take(x)) return {};
  at::Tensor y = at::detail::empty_cpu(x.sizes(), x.scalar_type(), /*pin_memory=*/false, std::nullopt);
  return map_into(f, y, x, xs...) ? y : at::Tensor();
}

}  // namespace cg
