// Element-wise functions in one pass over memory, for which ATen would need a mask and several passes.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include "kernels/levels.h"
#include "kernels/raw.h"

// An attribute for lambdas that `map` gets, so that the loop inlines them instead of calling them for each element.
#define CG_EACH __attribute__((always_inline))

namespace cg::kernels {

template <class T, class F, class... X>
void map_range(int64_t n, T* y, F f, const X*... xs) {
  detail::run_loop(detail::Once{[=]() CG_EACH {
    CG_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = f(xs[i]...);
  }});
}

// Applies f to the elements of tensors of one shape. Returns an undefined tensor if they are not dense CPU tensors of
// one float dtype. `f` is a lambda with `auto` parameters, CG_EACH and without branches: conditions are written
// a ? b : c.
template <class F, class... X>
at::Tensor map(F f, const at::Tensor& x, const X&... xs) {
  if (!(raw(x) && (raw(x, xs) && ...)) || !((x.sizes() == xs.sizes()) && ...)) return {};
  return with_dtype(x, [&]<class T>(T) {
    const at::Tensor dense = x.contiguous();
    at::Tensor y = at::empty_like(dense);
    [&](const auto&... rest) {
      map_range(y.numel(), y.mutable_data_ptr<T>(), f, dense.const_data_ptr<T>(), rest.template const_data_ptr<T>()...);
    }(xs.contiguous()...);
    return y;
  });
}

}  // namespace cg::kernels
