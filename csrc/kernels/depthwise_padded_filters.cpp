#include "kernels/depthwise_padded.h"

#include "kernels/depthwise_copy.h"
#include "kernels/simd.h"
#include "kernels/threads.h"
#include "kernels/workspace.h"

namespace cg::kernels::planes {
namespace {

constexpr int kTaps = 9;  // elements of a filter at a time

// Lets the compiler add in vectors, that is in another order.
#if defined(__clang__)
#define CG_SUMS unused
#else
#define CG_SUMS optimize("O3", "no-math-errno", "no-trapping-math", "no-signed-zeros", "associative-math")
#endif
// sums[k] += the sum of g[q] x[q + offset of tap k] over q < n; n is a multiple of L.
template <int N, class T>
CG_INLINE __attribute__((CG_SUMS)) void products(int64_t n, const T* __restrict g, const T* __restrict x,
                                                 const Tap* taps, double* sums) {
  const T* from[N];
  T s[N] = {};
  for (int k = 0; k < N; ++k) from[k] = x + taps[k].offset;
  for (int64_t q = 0; q < n; ++q)
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) s[k] += g[q] * from[k][q];
  for (int k = 0; k < N; ++k) sums[taps[k].element] += s[k];
}
template <class T>
CG_INLINE __attribute__((CG_SUMS)) void products(int64_t n, const T* g, const T* x, const Tap* taps, int64_t count,
                                                 double* sums) {
  switch (count) {
    case 1:
      return products<1>(n, g, x, taps, sums);
    case 2:
      return products<2>(n, g, x, taps, sums);
    case 3:
      return products<3>(n, g, x, taps, sums);
    case 4:
      return products<4>(n, g, x, taps, sums);
    case 5:
      return products<5>(n, g, x, taps, sums);
    case 6:
      return products<6>(n, g, x, taps, sums);
    case 7:
      return products<7>(n, g, x, taps, sums);
    case 8:
      return products<8>(n, g, x, taps, sums);
    default:
      return products<9>(n, g, x, taps, sums);
  }
}
#define CG_PRODUCTS(T)                                                                                                 \
  CG_SIMD __attribute__((CG_SUMS)) void products_of(int64_t n, const T* g, const T* x, const Tap* taps, int64_t count, \
                                                    double* sums) {                                                    \
    for (int64_t k = 0; k < count; k += kTaps) products(n, g, x, taps + k, std::min<int64_t>(kTaps, count - k), sums); \
  }
CG_PRODUCTS(float)
CG_PRODUCTS(double)
#undef CG_PRODUCTS
// The gradient of a filter without the zeros around the images, which infinite gradients would turn into NaN.
template <class T>
void filter_slowly(const Depthwise& d, const Plan& p, const T* x, const T* g, T* w) {
  const int64_t in = p.y.source * p.x.source, out = p.y.result * p.x.result;
  for (const Term& u : p.y.terms[0])
    for (const Term& v : p.x.terms[0]) {
      double s = 0;
      for (int64_t n = 0; n < d.n; ++n) {
        const T* const image = x + n * d.channels * in;
        const T* const map = g + n * d.channels * d.multiplier * out;
        for (int64_t row = 0; row < p.y.result; ++row)
          for (int64_t column = 0; column < p.x.result; ++column) {
            const int64_t i = p.y.at(row + u.shift, u.phase), j = p.x.at(column + v.shift, v.phase);
            if (i >= 0 && i < p.y.source && j >= 0 && j < p.x.source)
              s += static_cast<double>(map[row * p.x.result + column]) * image[i * p.x.source + j];
          }
      }
      w[u.element * p.width + v.element] = static_cast<T>(s);
    }
}

template <class T>
void filter(const Depthwise& d, const Plan& p, const T* x, const T* g, T* work, T* maps, T* w) {
  const int64_t in = p.y.source * p.x.source, out = p.y.result * p.x.result;
  const int64_t weights = d.filter[0] * d.filter[1];
  const bool whole = p.band == p.y.result;
  const std::vector<Tap>& taps = p.taps[0].list;
  std::vector<double> sums(weights);
  for (int64_t i = 0; i < d.n; i += p.planes) {
    const int64_t some = std::min(p.planes, d.n - i);
    for (int64_t first = 0; first < p.y.result; first += p.band) {
      const int64_t count = std::min(p.band, p.y.result - first);
      for (int64_t k = 0; k < some; ++k) {
        fill(p, x + (i + k) * d.channels * in, first, count, k, whole, work);
        spread(p, g + (i + k) * d.channels * d.multiplier * out + first * p.x.result, count, maps + k * p.plane);
      }
      const int64_t n = (some - 1) * p.plane + (count - 1) * p.pitch + p.x.result;
      std::fill_n(maps + n, L, T(0));
      products_of((n + L - 1) / L * L, maps, work, taps.data(), taps.size(), sums.data());
    }
  }
  for (int64_t k = 0; k < weights; ++k) w[k] = static_cast<T>(sums[k]);
}

}  // namespace

template <class T>
void padded_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  const int64_t numbers = kBytes / 2 / static_cast<int64_t>(sizeof(T)), weights = d.filter[0] * d.filter[1];
  const Plan p(forwards(d, 0, true), forwards(d, 1, true), d.filter[1], numbers, d.n);
  const int64_t in = d.image[0] * d.image[1], out = d.map[0] * d.map[1];
  in_threads(d.channels * d.multiplier, std::max<int64_t>(1, kGrain / (d.n * (out / 4 + 16))),
             [&](int64_t begin, int64_t end) {
               const Workspace<T> work(p.numbers() + p.planes * p.plane + L);
               T* const maps = work.get() + p.numbers();
               for (int64_t c = begin; c < end; ++c) {
                 const T *const x = image + c / d.multiplier * in, *const g = map + c * out;
                 filter(d, p, x, g, work.get(), maps, w + c * weights);
                 if (!finite(w + c * weights, weights)) filter_slowly(d, p, x, g, w + c * weights);
               }
             });
}
template void padded_filters(const Depthwise&, const float*, const float*, float*);
template void padded_filters(const Depthwise&, const double*, const double*, double*);

}  // namespace cg::kernels::planes
