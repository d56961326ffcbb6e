// The loops of depthwise convolutions on processors with AVX-512.
#pragma once
#include "kernels/depthwise_masked_plan.h"
#include "kernels/threads.h"

#if defined(CG_KERNEL_V4)
#include <immintrin.h>

namespace cg::kernels::planes {
namespace {

template <class T>
struct Simd;
template <>
struct Simd<float> {
  using V = __m512;
  using M = __mmask16;
  static constexpr int lanes = 16;
  CG_V4_INLINE M mask(const uint16_t* p) { return _load_mask16(const_cast<M*>(p)); }
  CG_V4_INLINE V zero() { return _mm512_setzero_ps(); }
  CG_V4_INLINE V load(const float* p) { return _mm512_loadu_ps(p); }
  CG_V4_INLINE V load(M m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
  CG_V4_INLINE void store(float* p, V x) { _mm512_storeu_ps(p, x); }
  CG_V4_INLINE void store(M m, float* p, V x) { _mm512_mask_storeu_ps(p, m, x); }
  // s + a b where the mask is set, otherwise s
  CG_V4_INLINE V add_product(M m, V a, V b, V s) { return _mm512_mask3_fmadd_ps(a, b, s, m); }
  CG_V4_INLINE V add(V a, V b) { return _mm512_add_ps(a, b); }
  // The places of a Pick, in a register, and the numbers of x at these places.
  CG_V4_INLINE V places(const Pick<float>& k) { return _mm512_castsi512_ps(_mm512_loadu_si512(k.data())); }
  CG_V4_INLINE V at(V x, V k) { return _mm512_maskz_permutexvar_ps(M(-1), _mm512_castps_si512(k), x); }
  CG_V4_INLINE V product(M m, V a, V b) { return _mm512_maskz_mul_ps(m, a, b); }
  CG_V4_INLINE V all(float x) { return _mm512_set1_ps(x); }
  CG_V4_INLINE V put(V a, M m, float x) { return _mm512_mask_broadcastss_ps(a, m, _mm_load_ss(&x)); }
  // Numbers of a and b: number i of the result is number k[i] of both.
  CG_V4_INLINE V pick(V a, V b, const Pick<float>& k) {
    return _mm512_permutex2var_ps(a, _mm512_loadu_si512(k.data()), b);
  }
};
template <>
struct Simd<double> {
  using V = __m512d;
  using M = __mmask8;
  static constexpr int lanes = 8;
  CG_V4_INLINE M mask(const uint8_t* p) { return _load_mask8(const_cast<M*>(p)); }
  CG_V4_INLINE V zero() { return _mm512_setzero_pd(); }
  CG_V4_INLINE V load(const double* p) { return _mm512_loadu_pd(p); }
  CG_V4_INLINE V load(M m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
  CG_V4_INLINE void store(double* p, V x) { _mm512_storeu_pd(p, x); }
  CG_V4_INLINE void store(M m, double* p, V x) { _mm512_mask_storeu_pd(p, m, x); }
  CG_V4_INLINE V add_product(M m, V a, V b, V s) { return _mm512_mask3_fmadd_pd(a, b, s, m); }
  CG_V4_INLINE V add(V a, V b) { return _mm512_add_pd(a, b); }
  CG_V4_INLINE V places(const Pick<double>& k) { return _mm512_castsi512_pd(_mm512_loadu_si512(k.data())); }
  CG_V4_INLINE V at(V x, V k) { return _mm512_maskz_permutexvar_pd(M(-1), _mm512_castpd_si512(k), x); }
  CG_V4_INLINE V product(M m, V a, V b) { return _mm512_maskz_mul_pd(m, a, b); }
  CG_V4_INLINE V all(double x) { return _mm512_set1_pd(x); }
  CG_V4_INLINE V put(V a, M m, double x) { return _mm512_mask_broadcastsd_pd(a, m, _mm_load_sd(&x)); }
  CG_V4_INLINE V pick(V a, V b, const Pick<double>& k) {
    return _mm512_permutex2var_pd(a, _mm512_loadu_si512(k.data()), b);
  }
};
// A mask of the first `count` lanes.
template <class T>
CG_INLINE Mask<T> first(int64_t count) {
  return count <= 0 ? 0 : count >= Simd<T>::lanes ? static_cast<Mask<T>>(-1) : static_cast<Mask<T>>((1u << count) - 1);
}

// Some results that are computed alike, each in vectors of consecutive numbers.
template <class T>
struct Run {
  int64_t count, vectors;
  Mask<T> last;  // the lanes of the last vector
  const T* x;
  int64_t x_step;  // from one to the next
  T* y;
  int64_t y_step;
};
// Their filters, and what they start from, or null. Each result consists of `planes` planes of `size` lanes, each with
// a filter of `weights` elements.
template <class T>
struct Filters {
  const T *w, *start;
  int64_t weights, planes, size;
};
// For each lane the number of its plane; `step`: from a plane's number to the next one's.
template <bool one, class T>
CG_V4_INLINE typename Simd<T>::V of_planes(const Filters<T>& f, const T* x, int64_t step) {
  typename Simd<T>::V r = Simd<T>::all(*x);
  if constexpr (!one)
    for (int64_t k = 1; k < f.planes; ++k)
      r = Simd<T>::put(r, static_cast<Mask<T>>(((1u << f.size) - 1) << k * f.size), x[k * step]);
  return r;
}

// y = start + w[0] x[offset of tap 0] + ..., or y += the same sum. `one`: whether results are of one plane. N: the
// number of taps, or 0 for any.
template <int N, bool one, class T>
CG_V4 void masked_sums(const Run<T>& r, const Reads<T>& reads, const Filters<T>& f, bool add) {
  using S = Simd<T>;
  using V = typename S::V;
  const int64_t n = N ? N : reads.offsets.size();
  const int64_t *const offsets = reads.offsets.data(), *const elements = reads.elements.data();
  for (int64_t i = 0; i < r.count; ++i) {
    const T *x = r.x + i * r.x_step, *const w = f.w + i * f.planes * f.weights;
    T* y = r.y + i * r.y_step;
    V weight[N ? N : 1];
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) weight[k] = of_planes<one>(f, w + elements[k], f.weights);
    const V start = f.start ? of_planes<one>(f, f.start + i * f.planes, 1) : S::zero();
    const Mask<T>* masks = reads.masks.data();
    for (int64_t v = 0; v < r.vectors; ++v, x += S::lanes, y += S::lanes, masks += n) {
      const Mask<T> all = v + 1 < r.vectors ? static_cast<Mask<T>>(-1) : r.last;
      V s = add ? S::load(all, y) : start;
      if constexpr (N > 0) {
#pragma GCC unroll 16
        for (int k = 0; k < N; ++k) {
          const auto inside = S::mask(masks + k);
          s = S::add_product(inside, S::load(inside, x + offsets[k]), weight[k], s);
        }
      } else {
        for (int64_t k = 0; k < n; ++k) {
          const auto inside = S::mask(masks + k);
          s = S::add_product(inside, S::load(inside, x + offsets[k]), of_planes<one>(f, w + elements[k], f.weights), s);
        }
      }
      S::store(all, y, s);
    }
  }
}
// The same for results of one vector, which is read once.
template <bool one, class T>
CG_V4 void vector_sums(const Run<T>& r, const Reads<T>& reads, const Filters<T>& f) {
  using S = Simd<T>;
  constexpr int N = 9;
  const int64_t* const elements = reads.elements.data();
  const Mask<T>* const masks = reads.masks.data();
  typename S::V from[N];
#pragma GCC unroll 9
  for (int k = 0; k < N; ++k) from[k] = S::places(reads.picks[k]);
  for (int64_t i = 0; i < r.count; ++i) {
    const T* const w = f.w + i * f.planes * f.weights;
    const auto x = S::load(r.last, r.x + i * r.x_step);
    auto s = f.start ? of_planes<one>(f, f.start + i * f.planes, 1) : S::zero();
#pragma GCC unroll 9
    for (int k = 0; k < N; ++k)
      s = S::add_product(S::mask(masks + k), S::at(x, from[k]), of_planes<one>(f, w + elements[k], f.weights), s);
    S::store(r.last, r.y + i * r.y_step, s);
  }
}
template <bool one, class T>
void any_sums(const Run<T>& r, const Reads<T>& reads, const Filters<T>& f, bool add) {
  if (reads.picks.size() == 9 && !add) return vector_sums<one>(r, reads, f);
  switch (reads.offsets.size()) {
    case 1:
      return masked_sums<1, one>(r, reads, f, add);
    case 2:
      return masked_sums<2, one>(r, reads, f, add);
    case 4:
      return masked_sums<4, one>(r, reads, f, add);
    case 9:
      return masked_sums<9, one>(r, reads, f, add);
    default:
      return masked_sums<0, one>(r, reads, f, add);
  }
}

// sums += y x[offset of a tap], for the taps [first, first + N); r.y is read.
template <int N, class T>
CG_V4 void masked_products(const Run<T>& r, const Reads<T>& reads, int64_t first, int64_t ahead_x, int64_t ahead_y,
                           T* sums) {
  using S = Simd<T>;
  using V = typename S::V;
  const int64_t n = reads.offsets.size();
  const int64_t* const offsets = reads.offsets.data() + first;
  V s[N];
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) s[k] = S::load(sums + (first + k) * S::lanes);
  for (int64_t i = 0; i < r.count; ++i) {
    const T *x = r.x + i * r.x_step, *y = r.y + i * r.y_step;
    const Mask<T>* masks = reads.masks.data() + first;
    for (int64_t v = 0; v < r.vectors; ++v, x += S::lanes, y += S::lanes, masks += n) {
      // The next channel's numbers, which are not next in the order of images.
      __builtin_prefetch(x + ahead_x);
      __builtin_prefetch(y + ahead_y);
      const V g = S::load(v + 1 < r.vectors ? static_cast<Mask<T>>(-1) : r.last, y);
#pragma GCC unroll 16
      for (int k = 0; k < N; ++k) {
        const auto inside = S::mask(masks + k);
        s[k] = S::add_product(inside, S::load(inside, x + offsets[k]), g, s[k]);
      }
    }
  }
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) S::store(sums + (first + k) * S::lanes, s[k]);
}
template <class T>
CG_V4 void vector_products(const Run<T>& r, const Reads<T>& reads, int64_t ahead_x, int64_t ahead_y, T* sums) {
  using S = Simd<T>;
  constexpr int N = 9;
  const Mask<T>* const masks = reads.masks.data();
  typename S::V from[N], s[N];
#pragma GCC unroll 9
  for (int k = 0; k < N; ++k) {
    from[k] = S::places(reads.picks[k]);
    s[k] = S::load(sums + k * S::lanes);
  }
  for (int64_t i = 0; i < r.count; ++i) {
    const T *const x = r.x + i * r.x_step, *const y = r.y + i * r.y_step;
    __builtin_prefetch(x + ahead_x);
    __builtin_prefetch(y + ahead_y);
    const auto v = S::load(r.last, x), g = S::load(r.last, y);
#pragma GCC unroll 9
    for (int k = 0; k < N; ++k) s[k] = S::add_product(S::mask(masks + k), S::at(v, from[k]), g, s[k]);
  }
#pragma GCC unroll 9
  for (int k = 0; k < N; ++k) S::store(sums + k * S::lanes, s[k]);
}
template <class T>
void any_products(const Run<T>& r, const Reads<T>& reads, int64_t ahead_x, int64_t ahead_y, T* sums) {
  if (reads.picks.size() == 9) return vector_products(r, reads, ahead_x, ahead_y, sums);
  const int64_t n = reads.offsets.size();
  int64_t k = 0;
  for (; n - k >= 9; k += 9) masked_products<9>(r, reads, k, ahead_x, ahead_y, sums);
  for (; n - k >= 3; k += 3) masked_products<3>(r, reads, k, ahead_x, ahead_y, sums);
  for (; k < n; ++k) masked_products<1>(r, reads, k, ahead_x, ahead_y, sums);
}

// to[k * stride + p] += the sum of element k over the lanes of plane p, and sums = 0.
template <class T>
CG_V4 void add_lanes(T* sums, int64_t count, int64_t planes, int64_t size, double* to, int64_t stride) {
  using S = Simd<T>;
  if (planes == 1) size = S::lanes;
  for (int64_t k = 0; k < count; ++k, sums += S::lanes, to += stride) {
    if ((size & (size - 1)) == 0) {
      auto v = S::load(sums);
      for (int64_t width = 1; width < size; width *= 2) {
        Pick<T> other;
        for (int l = 0; l < S::lanes; ++l) other[l] = l ^ width;
        v = S::add(v, S::pick(v, v, other));
      }
      S::store(sums, v);
      for (int64_t p = 0; p < planes; ++p) to[p] += sums[p * size];
    } else {
      for (int64_t p = 0; p < planes; ++p)
        for (int64_t l = 0; l < size; ++l) to[p] += sums[p * size + l];
    }
    S::store(sums, S::zero());
  }
}

}  // namespace
}  // namespace cg::kernels::planes
#endif
