#include "kernels/response.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>

#include "kernels/levels.h"
#include "kernels/raw.h"

namespace cg::kernels {
namespace {

constexpr int64_t kSums = 1024;  // sums that fit into the level-1 cache beside the elements

// `n` elements of one channel; x and y point at the first. The neighbours are `before` channels in front of it and
// `after` behind it, `inner` elements apart.
template <class T>
CG_INLINE void response_part(int64_t n, const T* x, T* y, int64_t inner, int64_t before, int64_t after, T k, T alpha) {
  T sums[kSums];
  for (int64_t i = 0; i < n; ++i) sums[i] = x[i] * x[i];
  for (int64_t c = -before; c <= after; ++c) {
    if (c == 0) continue;
    const T* const row = x + c * inner;
    CG_IVDEP
    for (int64_t i = 0; i < n; ++i) sums[i] += row[i] * row[i];
  }
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T root = std::sqrt(k + alpha * sums[i]);
    y[i] = x[i] / (root * std::sqrt(root));
  }
}

}  // namespace

at::Tensor local_response(const at::Tensor& x, int64_t half, double k, double alpha) {
  at::Tensor y = at::empty_like(x);
  const int64_t channels = x.size(1), rows = x.size(0) * channels, inner = rows ? x.numel() / rows : 0;
  if (inner == 0) return y;
  with_dtype(x, [&]<class T>(T) {
    const T* const from = x.const_data_ptr<T>();
    T* const to = y.mutable_data_ptr<T>();
    in_threads(rows, kGrain / inner + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t c = row % channels, before = std::min(half, c), after = std::min(half, channels - 1 - c);
        for (int64_t i = 0; i < inner; i += kSums) {
          const int64_t n = std::min(kSums, inner - i), at = row * inner + i;
          detail::run_loop(detail::Once{[=]() __attribute__((always_inline)) {
            response_part<T>(n, from + at, to + at, inner, before, after, static_cast<T>(k), static_cast<T>(alpha));
          }});
        }
      }
    });
  });
  return y;
}

}  // namespace cg::kernels
