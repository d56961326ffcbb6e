#include "kernels/norm_second.h"

#include <algorithm>
#include <vector>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

// In the comments h = (x - mean) r, r = 1 / std; a name with a bar is a mean: of v, v h, gy, gy h, v gy.
struct Means {
  double v = 0, vh = 0, g = 0, gh = 0, vg = 0;
};

template <class T>
CG_INLINE void add_means(int64_t n, const T* x, const T* v, const T* g, T mean, T r, Means& s) {
  s.v += simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i]; });
  s.vh += simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i] * ((x[i] - mean) * r); });
  s.g += simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return g[i]; });
  s.gh += simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return g[i] * ((x[i] - mean) * r); });
  s.vg += simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i] * g[i]; });
}
template <class T>
CG_INLINE void add_means_of_columns(int64_t n, const T* x, const T* v, const T* g, const T* mean, const T* r,
                                    double* const* s) {
  double *const sv = s[0], *const svh = s[1], *const sg = s[2], *const sgh = s[3], *const svg = s[4];
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T h = (x[i] - mean[i]) * r[i];
    sv[i] += v[i];
    svh[i] += v[i] * h;
    sg[i] += g[i];
    sgh[i] += g[i] * h;
    svg[i] += v[i] * g[i];
  }
}

// y = p v + q g + s (x - mean) + t
template <class T>
CG_INLINE void mix(int64_t n, const T* x, const T* v, const T* g, T mean, T p, T q, T s, T t, T* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = p * v[i] + q * g[i] + s * (x[i] - mean) + t;
}
template <class T>
CG_INLINE void mix_columns(int64_t n, const T* x, const T* v, const T* g, const T* mean, const T* p, const T* q,
                           const T* s, const T* t, T* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = p[i] * v[i] + q[i] * g[i] + s[i] * (x[i] - mean[i]) + t[i];
}

// The means of a row with the weights gamma and w of its columns.
struct RowMeans {
  double v, vh, u, uh, vu, q, qh;  // u = gamma gy, q = w gy
};
template <class T>
CG_INLINE void row_means(int64_t n, const T* x, const T* v, const T* g, const T* gamma, const T* w, T mean, T r,
                         RowMeans& s) {
  const auto h = [=](int64_t i) __attribute__((always_inline)) { return (x[i] - mean) * r; };
  s.v = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i]; });
  s.vh = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i] * h(i); });
  s.u = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return gamma[i] * g[i]; });
  s.uh = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return gamma[i] * g[i] * h(i); });
  s.vu = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i] * (gamma[i] * g[i]); });
  s.q = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return w[i] * g[i]; });
  s.qh = simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return w[i] * g[i] * h(i); });
}
// y = p v + (r w - q gamma) g + s (x - mean) + t
template <class T>
CG_INLINE void row_to_x(int64_t n, const T* x, const T* v, const T* g, const T* gamma, const T* w, T mean, T r, T p,
                        T q, T s, T t, T* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = p * v[i] + (r * w[i] - q * gamma[i]) * g[i] + s * (x[i] - mean) + t;
}
// nv = r (v - mean of v - h mean of v h); to_gy = gamma nv + w h + b, to_gamma += nv gy
template <class T>
CG_INLINE void row_to_others(int64_t n, const T* x, const T* v, const T* g, const T* gamma, const T* w, const T* b,
                             T mean, T r, T mv, T mvh, T* y, double* to_gamma) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T h = (x[i] - mean) * r, nv = r * (v[i] - mv - h * mvh);
    y[i] = gamma[i] * nv + w[i] * h + b[i];
    to_gamma[i] += nv * g[i];
  }
}

#define CG_NORM_SECOND(T)                                                                                            \
  CG_SIMD void add_means_of(int64_t n, const T* x, const T* v, const T* g, T mean, T r, Means& s) {                  \
    add_means(n, x, v, g, mean, r, s);                                                                               \
  }                                                                                                                  \
  CG_SIMD void add_means_of(int64_t n, const T* x, const T* v, const T* g, const T* mean, const T* r,                \
                            double* const* s) {                                                                      \
    add_means_of_columns(n, x, v, g, mean, r, s);                                                                    \
  }                                                                                                                  \
  CG_SIMD void mix_to(int64_t n, const T* x, const T* v, const T* g, T mean, T p, T q, T s, T t, T* y) {             \
    mix(n, x, v, g, mean, p, q, s, t, y);                                                                            \
  }                                                                                                                  \
  CG_SIMD void mix_to(int64_t n, const T* x, const T* v, const T* g, const T* mean, const T* p, const T* q,          \
                      const T* s, const T* t, T* y) {                                                                \
    mix_columns(n, x, v, g, mean, p, q, s, t, y);                                                                    \
  }                                                                                                                  \
  CG_SIMD void means_of_row(int64_t n, const T* x, const T* v, const T* g, const T* gamma, const T* w, T mean, T r,  \
                            RowMeans& s) {                                                                           \
    row_means(n, x, v, g, gamma, w, mean, r, s);                                                                     \
  }                                                                                                                  \
  CG_SIMD void row_to(int64_t n, const T* x, const T* v, const T* g, const T* gamma, const T* w, T mean, T r, T p,   \
                      T q, T s, T t, T* y) {                                                                         \
    row_to_x(n, x, v, g, gamma, w, mean, r, p, q, s, t, y);                                                          \
  }                                                                                                                  \
  CG_SIMD void row_to(int64_t n, const T* x, const T* v, const T* g, const T* gamma, const T* w, const T* b, T mean, \
                      T r, T mv, T mvh, T* y, double* to_gamma) {                                                    \
    row_to_others(n, x, v, g, gamma, w, b, mean, r, mv, mvh, y, to_gamma);                                           \
  }
CG_NORM_SECOND(float)
CG_NORM_SECOND(double)
#undef CG_NORM_SECOND

template <class T>
const T* pointer(const at::Tensor& t) {
  return t.const_data_ptr<T>();
}

}  // namespace

void batch_norm_second(const SecondNorm& k) {
  const int64_t outer = k.x.size(0), channels = k.x.size(1), inner = k.x.size(2);
  with_dtype(k.x, [&]<class T>(T) {
    const T *const x = pointer<T>(k.x), *const v = pointer<T>(k.v), *const g = pointer<T>(k.gy);
    const T *const m = pointer<T>(k.mean), *const r = pointer<T>(k.inv_std), *const gamma = pointer<T>(k.gamma);
    const int64_t grain = kGrain / std::max<int64_t>(1, outer * inner) + 1;
    std::vector<Means> means(channels);
    if (inner == 1) {
      std::vector<double> sums(5 * channels);
      double* at[5];
      for (int j = 0; j < 5; ++j) at[j] = sums.data() + j * channels;
      for (int64_t n = 0; n < outer; ++n)
        add_means_of(channels, x + n * channels, v + n * channels, g + n * channels, m, r, at);
      for (int64_t c = 0; c < channels; ++c) means[c] = {at[0][c], at[1][c], at[2][c], at[3][c], at[4][c]};
    } else {
      in_threads(channels, grain, [&](int64_t from, int64_t to) {
        for (int64_t n = 0; n < outer; ++n)
          for (int64_t c = from; c < to; ++c) {
            const int64_t i = (n * channels + c) * inner;
            add_means_of(inner, x + i, v + i, g + i, m[c], r[c], means[c]);
          }
      });
    }
    // The factors of v, gy, x - mean and 1 in the gradients of x and of gy.
    const double count = static_cast<double>(std::max<int64_t>(outer * inner, 1));  // 1: of no elements the sums are 0
    std::vector<T> factors(8 * channels);
    T* f[8];
    for (int j = 0; j < 8; ++j) f[j] = factors.data() + j * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const Means& s = means[c];
      const double sv = s.v / count, svh = s.vh / count, sg = s.g / count, sgh = s.gh / count, svg = s.vg / count;
      const double rc = r[c], wc = k.w.defined() ? pointer<T>(k.w)[c] : 0, bc = k.b.defined() ? pointer<T>(k.b)[c] : 0;
      const double slope = gamma[c] * rc, of_v = -slope * sgh, of_g = wc - slope * svh,
                   cross = svg - sv * sg - svh * sgh;
      f[0][c] = static_cast<T>(rc * of_v);
      f[1][c] = static_cast<T>(rc * of_g);
      f[2][c] = static_cast<T>(-(of_v * svh + of_g * sgh + slope * cross) * rc * rc);
      f[3][c] = static_cast<T>(-(of_v * sv + of_g * sg) * rc);
      f[4][c] = static_cast<T>(slope);
      f[5][c] = 0;
      f[6][c] = static_cast<T>(of_g * rc);
      f[7][c] = static_cast<T>(bc - slope * sv);
      if (k.to_gamma.defined()) k.to_gamma.data_ptr<T>()[c] = static_cast<T>(count * rc * cross);
    }
    for (int j = 0; j < 2; ++j) {
      const at::Tensor& to = j ? k.to_gy : k.to_x;
      if (!to.defined()) continue;
      T *const y = to.data_ptr<T>(), *const *const p = f + 4 * j;
      in_threads(channels, grain, [&](int64_t from, int64_t to) {
        for (int64_t n = 0; n < outer; ++n) {
          const int64_t row = n * channels * inner;
          if (inner == 1) {
            const int64_t i = row + from;
            mix_to(to - from, x + i, v + i, g + i, m + from, p[0] + from, p[1] + from, p[2] + from, p[3] + from, y + i);
            continue;
          }
          for (int64_t c = from; c < to; ++c) {
            const int64_t i = row + c * inner;
            mix_to(inner, x + i, v + i, g + i, m[c], p[0][c], p[1][c], p[2][c], p[3][c], y + i);
          }
        }
      });
    }
  });
}

void layer_norm_second(const SecondNorm& k) {
  const int64_t rows = k.x.size(0), n = k.x.size(1);
  with_dtype(k.x, [&]<class T>(T) {
    const std::vector<T> zeros(n);
    const T *const x = pointer<T>(k.x), *const v = pointer<T>(k.v), *const g = pointer<T>(k.gy);
    const T *const m = pointer<T>(k.mean), *const r = pointer<T>(k.inv_std), *const gamma = pointer<T>(k.gamma);
    const T* const w = k.w.defined() ? pointer<T>(k.w) : zeros.data();
    const T* const b = k.b.defined() ? pointer<T>(k.b) : zeros.data();
    T* const to_x = k.to_x.defined() ? k.to_x.data_ptr<T>() : nullptr;
    T* const to_gy = k.to_gy.defined() ? k.to_gy.data_ptr<T>() : nullptr;
    std::vector<double> to_gamma(n);
    std::vector<T> unused(n);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = i * n;
      RowMeans s;
      means_of_row(n, x + row, v + row, g + row, gamma, w, m[i], r[i], s);
      for (double* e : {&s.v, &s.vh, &s.u, &s.uh, &s.vu, &s.q, &s.qh}) *e /= static_cast<double>(n);
      const double ri = r[i], mean = s.q - ri * (s.uh * s.v + s.vh * s.u);
      const double mean_h = s.qh - 2 * ri * s.uh * s.vh + ri * (s.vu - s.v * s.u - s.vh * s.uh);
      if (to_x)
        row_to(n, x + row, v + row, g + row, gamma, w, m[i], r[i], static_cast<T>(-ri * ri * s.uh),
               static_cast<T>(ri * ri * s.vh), static_cast<T>(-ri * ri * mean_h), static_cast<T>(-ri * mean),
               to_x + row);
      if (to_gy || k.to_gamma.defined())
        row_to(n, x + row, v + row, g + row, gamma, w, b, m[i], r[i], static_cast<T>(s.v), static_cast<T>(s.vh),
               to_gy ? to_gy + row : unused.data(), to_gamma.data());
    }
    if (k.to_gamma.defined()) std::copy(to_gamma.begin(), to_gamma.end(), k.to_gamma.data_ptr<T>());
  });
}

}  // namespace cg::kernels
