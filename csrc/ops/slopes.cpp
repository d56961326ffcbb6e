#include "ops/slopes.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/hardtanh_backward.h>
#include <ATen/ops/isnan.h>

#include "kernels/erf.h"
#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg {
namespace {

using at::Tensor;

template <class T>
CG_INLINE void elu_range(int64_t n, T* to, const T* gy, const T* y, T scale, T floor, bool nan) {
  if (nan) {
    CG_IVDEP
    for (int64_t i = 0; i < n; ++i) to[i] = gy[i] * (y[i] > 0 ? scale : y[i] + floor);
  } else {
    CG_IVDEP
    for (int64_t i = 0; i < n; ++i) to[i] = gy[i] * (y[i] <= 0 ? y[i] + floor : scale);
  }
}
CG_SIMD void elu_loop(int64_t n, float* to, const float* gy, const float* y, float scale, float floor, bool nan) {
  elu_range(n, to, gy, y, scale, floor, nan);
}
CG_SIMD void elu_loop(int64_t n, double* to, const double* gy, const double* y, double scale, double floor, bool nan) {
  elu_range(n, to, gy, y, scale, floor, nan);
}

template <class T>
CG_INLINE void band_range(int64_t n, T* to, const T* gy, const T* x, T lower, T upper) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) to[i] = (x[i] > lower) & (x[i] < upper) ? gy[i] : T(0);
}
CG_SIMD void band_loop(int64_t n, float* to, const float* gy, const float* x, float lower, float upper) {
  band_range(n, to, gy, x, lower, upper);
}
CG_SIMD void band_loop(int64_t n, double* to, const double* gy, const double* x, double lower, double upper) {
  band_range(n, to, gy, x, lower, upper);
}

CG_SIMD void erf_loop(int64_t n, float* to, const float* gy, const float* x) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) to[i] = simd::erf_slope(gy[i], x[i]);
}

// Calls loop(n, to, gy, x) with pointers to parts of the tensors. Returns an undefined tensor if they have no plain
// memory.
template <class F>
Tensor in_parts(Tensor to, const Tensor& gy, const Tensor& x, F&& loop) {
  if (!kernels::raw(gy, x) || gy.sizes() != x.sizes()) return {};
  const Tensor g = gy.contiguous(), at = x.contiguous();
  if (!to.defined() || !to.is_contiguous()) to = at::empty_like(g);
  kernels::with_dtype(g, [&]<class T>(T) {
    T* y = to.mutable_data_ptr<T>();
    const T *a = g.const_data_ptr<T>(), *b = at.const_data_ptr<T>();
    kernels::in_threads(to.numel(), kernels::kGrain,
                        [&](int64_t begin, int64_t end) { loop(end - begin, y + begin, a + begin, b + begin); });
  });
  return to;
}

}  // namespace

Tensor elu_slope(Tensor to, const Tensor& gy, const Tensor& y, double scale, double floor, bool nan) {
  return in_parts(std::move(to), gy, y, [=]<class T>(int64_t n, T* to, const T* gy, const T* y) {
    elu_loop(n, to, gy, y, static_cast<T>(scale), static_cast<T>(floor), nan);
  });
}
Tensor band_slope(const Tensor& gy, const Tensor& x, double lower, double upper) {
  Tensor y = in_parts({}, gy, x, [=]<class T>(int64_t n, T* to, const T* gy, const T* x) {
    band_loop(n, to, gy, x, static_cast<T>(lower), static_cast<T>(upper));
  });
  return y.defined() ? y : at::hardtanh_backward(gy, x, lower, upper).masked_fill(at::isnan(x), 0);
}

Tensor erf_slope(Tensor to, const Tensor& gy, const Tensor& x) {
  if (x.scalar_type() != at::kFloat) return {};
  return in_parts(std::move(to), gy, x, []<class T>(int64_t n, T* to, const T* gy, const T* x) {
    if constexpr (std::is_same_v<T, float>) erf_loop(n, to, gy, x);
  });
}

}  // namespace cg
