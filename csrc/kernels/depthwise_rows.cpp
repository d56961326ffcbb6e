#include "kernels/depthwise_rows.h"

#include "kernels/depthwise_row_plan.h"

namespace cg::kernels {
#if defined(CG_KERNEL_V4)
namespace planes {
namespace {

// `count` planes: y = start + sums, or y += sums.
template <class T, int K>
CG_V4 void row_sums(const RowPlan<T, K>& r, int64_t count, const T* x, const T* w, const T* start, bool add, T* y) {
  using S = Simd<T>;
  using V = typename S::V;
  for (; count > 0; --count, x += r.height * r.width, y += r.result_height * r.result_width, w += K * K) {
    V weight[K][K];
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < K; ++j) weight[i][j] = S::all(w[r.element[i][j]]);
    const V from = start ? S::all(*start++) : S::zero();
    for (int64_t b = 0; b < r.blocks(); ++b) {
      Mask<T> inside[K];
#pragma GCC unroll 8
      for (int j = 0; j < K; ++j) inside[j] = r.inside[b][j];
      const Mask<T> lanes = first<T>(r.result_width - b * S::lanes);
      V s[K];  // of the results o, o - 1, ...
#pragma GCC unroll 8
      for (int i = 0; i < K; ++i) s[i] = from;
      const T* const column = x + b * S::lanes;
      T* to = y + b * S::lanes;
      for (int64_t o = 0; o < r.result_height + K - 1; ++o) {
        const int64_t row = o + r.shift;
        if (row >= 0 && row < r.height) {
          V v[K];
#pragma GCC unroll 8
          for (int j = 0; j < K; ++j) v[j] = S::load(inside[j], column + row * r.width + r.offset[j]);
#pragma GCC unroll 8
          for (int i = 0; i < K; ++i) {
            V p = S::product(inside[0], v[0], weight[i][0]);
#pragma GCC unroll 8
            for (int j = 1; j < K; ++j) p = S::add_product(inside[j], v[j], weight[i][j], p);
            s[i] = S::add(s[i], p);
          }
        }
        if (o >= K - 1) {
          if (add) s[K - 1] = S::add(s[K - 1], S::load(lanes, to));
          S::store(lanes, to, s[K - 1]);
          to += r.result_width;
        }
#pragma GCC unroll 8
        for (int i = K - 1; i > 0; --i) s[i] = s[i - 1];
        s[0] = from;
      }
    }
  }
}

// sums[i][j], for each lane, += the products of a plane of a map with the numbers that element (i, j) reads.
template <class T, int K>
CG_V4 void row_products(const RowPlan<T, K>& r, const T* x, const T* y, T* sums) {
  using S = Simd<T>;
  using V = typename S::V;
  V s[K][K];
#pragma GCC unroll 64
  for (int k = 0; k < K * K; ++k) s[k / K][k % K] = S::load(sums + k * S::lanes);
  for (int64_t b = 0; b < r.blocks(); ++b) {
    Mask<T> inside[K];
#pragma GCC unroll 8
    for (int j = 0; j < K; ++j) inside[j] = r.inside[b][j];
    const Mask<T> lanes = first<T>(r.result_width - b * S::lanes);
    const T *const column = x + b * S::lanes, *const map = y + b * S::lanes;
    V g[K];  // the rows o, o - 1, ... of the map
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) g[i] = S::zero();
    for (int64_t o = 0; o < r.result_height + K - 1; ++o) {
      if (o < r.result_height) g[0] = S::load(lanes, map + o * r.result_width);
      const int64_t row = o + r.shift;
      if (row >= 0 && row < r.height) {
        V v[K];
#pragma GCC unroll 8
        for (int j = 0; j < K; ++j) v[j] = S::load(inside[j], column + row * r.width + r.offset[j]);
#pragma GCC unroll 8
        for (int i = 0; i < K; ++i)
          if (o - i >= 0 && o - i < r.result_height)
#pragma GCC unroll 8
            for (int j = 0; j < K; ++j) s[i][j] = S::add_product(inside[j], v[j], g[i], s[i][j]);
      }
#pragma GCC unroll 8
      for (int i = K - 1; i > 0; --i) g[i] = g[i - 1];
    }
  }
#pragma GCC unroll 64
  for (int k = 0; k < K * K; ++k) S::store(sums + k * S::lanes, s[k / K][k % K]);
}

// Whether filters are k x k and move by one element, and rows of results fill a good part of a vector.
template <class T>
bool in_rows(const Depthwise& d, bool backwards, int64_t k) {
  const int64_t width = backwards ? d.image[1] : d.map[1];
  return simd_level() >= 4 && d.filter[0] == k && d.filter[1] == k && d.stride[0] == 1 && d.stride[1] == 1 &&
         d.dilate[0] == 1 && 4 * width > Simd<T>::lanes;
}

template <int K, class T>
bool compute_rows(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y) {
  const RowPlan<T, K> plan(d, backwards);
  return each_plane<K>(d, backwards, x, w, bias, y, [&](auto... a) { row_sums(plan, a...); });
}

template <class T>
bool compute_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  const RowPlan<T, 3> plan(d, false);
  return each_filter<3>(d, plan, image, map, w, [&](auto... a) { row_products(plan, a...); });
}

}  // namespace
}  // namespace planes

template <class T>
bool row_planes(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y) {
  using namespace planes;
  if (in_rows<T>(d, backwards, 3)) return compute_rows<3>(d, backwards, x, w, bias, y);
  if (in_rows<T>(d, backwards, 5)) return compute_rows<5>(d, backwards, x, w, bias, y);
  if (in_rows<T>(d, backwards, 7)) return compute_rows<7>(d, backwards, x, w, bias, y);
  return false;
}
template <class T>
bool row_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  using namespace planes;
  return in_rows<T>(d, false, 3) && compute_filters(d, image, map, w);
}
#else
template <class T>
bool row_planes(const Depthwise&, bool, const T*, const T*, const T*, T*) {
  return false;
}
template <class T>
bool row_filters(const Depthwise&, const T*, const T*, T*) {
  return false;
}
#endif
#define CG_ROWS(T)                                                                    \
  template bool row_planes(const Depthwise&, bool, const T*, const T*, const T*, T*); \
  template bool row_filters(const Depthwise&, const T*, const T*, T*);
CG_ROWS(float)
CG_ROWS(double)
#undef CG_ROWS

}  // namespace cg::kernels
