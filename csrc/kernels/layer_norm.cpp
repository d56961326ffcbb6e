#include "kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace layer_norms {
namespace {

// As simd::sum, with several vectors, which do not wait for each other.
template <class T, class F>
CG_INLINE T sum_of(int64_t n, F&& term) {
  constexpr int kMany = 4 * simd::lanes;
  T s[kMany] = {};
  int64_t i = 0;
  for (; i + kMany <= n; i += kMany)
    for (int k = 0; k < kMany; ++k) s[k] += term(i + k);
  T total = simd::sum<T>(n - i, [&](int64_t k) __attribute__((always_inline)) { return term(i + k); });
  for (int width = kMany / 2; width >= simd::lanes; width /= 2)
    for (int k = 0; k < width; ++k) s[k] += s[k + width];
  return total + simd::sum<T>(simd::lanes, [&](int64_t k) __attribute__((always_inline)) { return s[k]; });
}

template <class T>
struct Row {
  int64_t n;
  const T *x, *gamma, *beta;
  T* y;
  T eps, mean, inv_std;
};
template <class T>
CG_INLINE void normalize(Row<T>& r) {
  const int64_t n = r.n;
  const T *const x = r.x, *const gamma = r.gamma, *const beta = r.beta;
  T mean = sum_of<T>(n, [=](int64_t i) __attribute__((always_inline)) { return x[i]; }) / n;
  if (!std::isfinite(mean))  // the sum of large numbers overflows, unlike their mean
    mean = sum_of<T>(n, [=](int64_t i) __attribute__((always_inline)) { return x[i] / n; });
  const T variance = sum_of<T>(n,
                               [=](int64_t i) __attribute__((always_inline)) {
                                 const T d = x[i] - mean;
                                 return d * d;
                               }) /
                     n;
  const T scale = 1 / std::sqrt(variance + r.eps);
  T* const y = r.y;
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
  r.mean = mean, r.inv_std = scale;
}
CG_SIMD void normalize_row(Row<float>& r) { normalize(r); }
CG_SIMD void normalize_row(Row<double>& r) { normalize(r); }

}  // namespace
}  // namespace layer_norms

void layer_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, const at::Tensor& y,
                const at::Tensor& mean, const at::Tensor& inv_std) {
  const int64_t rows = x.size(0), columns = x.size(1);
  with_dtype(x, [&]<class T>(T) {
    const T *const from = x.const_data_ptr<T>(), *const g = gamma.const_data_ptr<T>(),
                   *const b = beta.const_data_ptr<T>();
    T *const to = y.mutable_data_ptr<T>(), *const means = mean.mutable_data_ptr<T>(),
             *const scales = inv_std.mutable_data_ptr<T>();
    in_threads(rows, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        layer_norms::Row<T> r{columns, from + i * columns, g, b, to + i * columns, static_cast<T>(eps), 0, 0};
        layer_norms::normalize_row(r);
        means[i] = r.mean, scales[i] = r.inv_std;
      }
    });
  });
}

}  // namespace cg::kernels
