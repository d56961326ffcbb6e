// Planes of results that are computed row by row, for depthwise_rows.cpp and depthwise_halves.cpp.
#pragma once
#include <array>

#include "kernels/depthwise_simd.h"

#if defined(CG_KERNEL_V4)
namespace cg::kernels::planes {
namespace {

// Rows of a plane of results, in blocks of a vector. Row o reads the rows o + shift + i of the source with the rows
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

// Calls sums(planes, x, w, bias, add, y) for consecutive planes of results: `add` says whether y already contains the
// sums over other sources.
template <int K, class T, class F>
bool each_plane(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y, F&& sums) {
  const int64_t m = d.multiplier, channels = backwards ? d.channels : d.channels * m, sources = backwards ? m : 1;
  const int64_t of_image = d.image[0] * d.image[1], of_map = d.map[0] * d.map[1];
  const int64_t in = backwards ? of_map : of_image, out = backwards ? of_image : of_map;
  const int64_t x_step = (backwards ? d.channels * m : d.channels) * in, cost = sources * (out / 4 + 16);
  in_threads(d.n * channels, std::max<int64_t>(1, kGrain / cost), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / channels, c = begin % channels;
      const int64_t count = m == 1 ? std::min(end - begin, channels - c) : 1;
      for (int64_t k = 0; k < sources; ++k) {
        const int64_t of_filter = backwards ? c * m + k : c;
        sums(count, x + image * x_step + (backwards ? of_filter : c / m) * in, w + of_filter * K * K,
             bias && k == 0 ? bias + c : nullptr, k > 0, y + begin * out);
      }
      begin += count;
    }
  });
  return true;
}

// The gradients of filters. products(x, y, sums) adds the products of a plane of images and one of maps, for each lane
// and for each number of a filter in the order of plan.element.
template <int K, class T, class P, class F>
bool each_filter(const Depthwise& d, const P& plan, const T* image, const T* map, T* w, F&& products) {
  constexpr int64_t lanes = Simd<T>::lanes, kAdded = 64;  // vectors that are added in T, before sums in double
  const int64_t channels = d.channels * d.multiplier;
  const int64_t in = d.image[0] * d.image[1], out = d.map[0] * d.map[1];
  const int64_t most = std::max<int64_t>(1, kAdded / (plan.blocks() * plan.result_height));
  in_threads(channels, std::max<int64_t>(1, kGrain / (d.n * (out / 4 + 16))), [&](int64_t begin, int64_t end) {
    T sums[K * K * lanes] = {};
    for (int64_t c = begin; c < end; ++c) {
      double totals[K * K] = {};
      for (int64_t i = 0; i < d.n; ++i) {
        products(image + (i * d.channels + c / d.multiplier) * in, map + (i * channels + c) * out, sums);
        if (i % most == most - 1 || i == d.n - 1) add_lanes(sums, K * K, 1, lanes, totals, 1);
      }
      for (int k = 0; k < K * K; ++k) w[c * K * K + plan.element[k / K][k % K]] = static_cast<T>(totals[k]);
    }
  });
  return true;
}

}  // namespace
}  // namespace cg::kernels::planes
#endif
