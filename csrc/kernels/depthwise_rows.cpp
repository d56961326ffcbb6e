#include "kernels/depthwise_rows.h"

#include <array>

#include "kernels/depthwise_simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
#if defined(CG_KERNEL_V4)
namespace planes {
namespace {

// RowPlan of a plane of results, in blocks of a vector. Row o reads the rows o + shift + i of the source with the rows
// i of the filter, and column c the columns c + offset[j].
template <class T, int K>
struct RowPlan {
  static constexpr int64_t lanes = Simd<T>::lanes;
  int64_t height, width, result_height, result_width, shift;
  int64_t offset[K], element[K][K];            // of the filter
  std::vector<std::array<Mask<T>, K>> inside;  // for each block, where each column of the filter reads inside a row

  RowPlan(const Depthwise& d, bool backwards) {
    const Axis y = backwards ? planes::backwards(d, 0, false) : forwards(d, 0, false);
    const Axis x = backwards ? planes::backwards(d, 1, false) : forwards(d, 1, false);
    height = y.source;
    width = x.source;
    result_height = y.result;
    result_width = x.result;
    const auto &rows = y.terms[0], &columns = x.terms[0];
    const bool down = rows[0].shift < rows[K - 1].shift;
    shift = rows[down ? 0 : K - 1].shift;
    for (int j = 0; j < K; ++j) offset[j] = columns[j].shift;
    for (int i = 0; i < K; ++i)
      for (int j = 0; j < K; ++j) element[i][j] = rows[down ? i : K - 1 - i].element * K + columns[j].element;
    inside.resize(blocks());
    for (int64_t b = 0; b < blocks(); ++b)
      for (int j = 0; j < K; ++j) {
        const int64_t from = b * lanes + offset[j];  // the column of the first lane
        const Mask<T> before = first<T>(-from), until = first<T>(width - from);
        inside[b][j] = until & ~before & first<T>(result_width - b * lanes);
      }
  }
  int64_t blocks() const { return (result_width + lanes - 1) / lanes; }
};

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
  const RowPlan<T, K> rows(d, backwards);
  const int64_t m = d.multiplier, channels = backwards ? d.channels : d.channels * m, sources = backwards ? m : 1;
  const int64_t in = rows.height * rows.width, out = rows.result_height * rows.result_width;
  const int64_t x_step = (backwards ? d.channels * m : d.channels) * in, cost = sources * (out / 4 + 16);
  in_threads(d.n * channels, std::max<int64_t>(1, kGrain / cost), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / channels, c = begin % channels;
      const int64_t count = m == 1 ? std::min(end - begin, channels - c) : 1;
      for (int64_t k = 0; k < sources; ++k) {
        const int64_t of_filter = backwards ? c * m + k : c;
        row_sums(rows, count, x + image * x_step + (backwards ? of_filter : c / m) * in, w + of_filter * K * K,
                 bias && k == 0 ? bias + c : nullptr, k > 0, y + begin * out);
      }
      begin += count;
    }
  });
  return true;
}

template <int K, class T>
bool compute_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  constexpr int64_t lanes = Simd<T>::lanes, kAdded = 64;  // vectors that are added in T, before sums in double
  const RowPlan<T, K> rows(d, false);
  const int64_t channels = d.channels * d.multiplier;
  const int64_t in = rows.height * rows.width, out = rows.result_height * rows.result_width;
  const int64_t most = std::max<int64_t>(1, kAdded / (rows.blocks() * rows.result_height));
  in_threads(channels, std::max<int64_t>(1, kGrain / (d.n * (out / 4 + 16))), [&](int64_t begin, int64_t end) {
    T sums[K * K * lanes] = {};
    for (int64_t c = begin; c < end; ++c) {
      double totals[K * K] = {};
      for (int64_t i = 0; i < d.n; ++i) {
        row_products(rows, image + (i * d.channels + c / d.multiplier) * in, map + (i * channels + c) * out, sums);
        if (i % most == most - 1 || i == d.n - 1) add_lanes(sums, K * K, 1, lanes, totals, 1);
      }
      for (int k = 0; k < K * K; ++k) w[c * K * K + rows.element[k / K][k % K]] = static_cast<T>(totals[k]);
    }
  });
  return true;
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
  return in_rows<T>(d, false, 3) && compute_filters<3>(d, image, map, w);
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
