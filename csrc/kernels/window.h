// Windows over the last axes of images: the sum of each window, and the transpose, which adds an element to all pixels
// of its window (window_places.h has kernels for one chosen place of each window). On a GPU one call computes an
// element of the result, on a CPU (`whole`) a line of it. Each result gathers its terms, so that no two threads add to
// the same element.
#pragma once
#include "kernels/call.h"

namespace cg::kernels {

constexpr int kLine = 256;  // elements of a line in a call's buffer

// Windows over three axes; with fewer axes, the missing ones in front have entries 1, 1, 1, 1, 0. These are the
// integers of every kernel, in this order.
struct WindowSizes {
  int64_t planes, image[3], map[3], ksize[3], stride[3], pad[3], whole;
  static constexpr int count = 17;

  CG_FN int64_t image_size() const { return image[0] * image[1] * image[2]; }
  CG_FN int64_t map_size() const { return map[0] * map[1] * map[2]; }
  CG_FN int64_t start(int k, int64_t at) const { return at * stride[k] - pad[k]; }
  // The range of window `at` that is inside the image.
  CG_FN void inside(int k, int64_t at, int64_t& first, int64_t& stop) const {
    const int64_t low = start(k, at), high = low + ksize[k];
    first = low < 0 ? 0 : low;
    stop = high < image[k] ? high : image[k];
  }
  // The range of windows that contain `at`.
  CG_FN void around(int k, int64_t at, int64_t& first, int64_t& stop) const {
    const int64_t low = at + pad[k] - ksize[k] + 1, high = (at + pad[k]) / stride[k] + 1;
    first = low > 0 ? (low + stride[k] - 1) / stride[k] : 0;
    stop = high < map[k] ? high : map[k];
  }
  // Entry k of the first `axes` axes of all maps (`in_map`) or images: its plane and place, and along each of these
  // axes the range of the image that its window covers, or the range of windows that contain it.
  struct Place {
    int64_t plane, at[3], from[3], stop[3];
    // The sum of the range of an image or a map of `sizes`.
    template <class C, class T>
    CG_FN C sum(const T* x, const int64_t* sizes) const {
      C sum = 0;
      for (int64_t i = from[0]; i < stop[0]; ++i)
        for (int64_t j = from[1]; j < stop[1]; ++j)
          for (int64_t l = from[2]; l < stop[2]; ++l) sum += widen(x[(i * sizes[1] + j) * sizes[2] + l]);
      return sum;
    }
  };
  template <bool in_map, int axes = 3>
  CG_FN Place place(int64_t k) const {
    const int64_t* sizes = in_map ? map : image;
    Place p;
    for (int d = axes; d-- > 0; k /= sizes[d]) {
      p.at[d] = k % sizes[d];
      if (in_map)
        inside(d, p.at[d], p.from[d], p.stop[d]);
      else
        around(d, p.at[d], p.from[d], p.stop[d]);
    }
    p.plane = k;
    return p;
  }
};
inline bool window_sizes(const Call& c, WindowSizes& s) {
  if (c.n_integers != WindowSizes::count) return false;
  const int64_t* v = c.integers;
  s.planes = v[0];
  for (int k = 0; k < 3; ++k) {
    s.image[k] = v[1 + k];
    s.map[k] = v[4 + k];
    s.ksize[k] = v[7 + k];
    s.stride[k] = v[10 + k];
    s.pad[k] = v[13 + k];
    if (s.ksize[k] < 1 || s.stride[k] < 1 || s.pad[k] < 0) return false;
  }
  s.whole = v[16];
  return true;
}

template <class T>
struct WindowSums {
  using C = compute_t<T>;
  WindowSizes size;
  C divisor;
  T* y;
  const T* x;
  CG_FN void operator()(int64_t k) const {
    const auto window = size.template place<true>(k);
    y[k] = narrow<T>(window.template sum<C>(x + window.plane * size.image_size(), size.image) / divisor);
  }
};
// Adds elements begin, begin + step, ... of a row to those of a line. The step may be a compile-time constant.
template <int step, class C, class T>
CG_FN void add_strided(C* line, const T* row, int64_t n, int64_t given) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) line[i] += widen(row[i * (step ? step : given)]);
}
// Rows of a window are summed first, and all windows of a line share these sums.
template <class T>
struct WindowSumsLine : WindowSums<T> {
  using C = compute_t<T>;
  CG_FN void operator()(int64_t k) const {
    const WindowSizes& s = this->size;
    const int64_t width = s.ksize[2], step = s.stride[2], count = width > kLine ? 0 : (kLine - width) / step + 1;
    if (count == 0) {
      for (int64_t i = 0; i < s.map[2]; ++i) WindowSums<T>::operator()(k * s.map[2] + i);
      return;
    }
    const auto [plane, at, from, stop] = s.template place<true, 2>(k);
    const T* p = this->x + plane * s.image_size();
    T* to = this->y + k * s.map[2];
    for (int64_t first = 0; first < s.map[2]; first += count) {
      const int64_t n = s.map[2] - first < count ? s.map[2] - first : count, span = (n - 1) * step + width;
      const int64_t start = s.start(2, first), low = start < 0 ? -start : 0;
      const int64_t high = s.image[2] - start < span ? s.image[2] - start : span;
      C line[kLine], sums[kLine];
      for (int64_t i = 0; i < span; ++i) line[i] = 0;
      for (int64_t i = from[0]; i < stop[0]; ++i)
        for (int64_t j = from[1]; j < stop[1]; ++j)
          if (low < high)
            add_strided<1>(line + low, p + (i * s.image[1] + j) * s.image[2] + start + low, high - low, 1);
      for (int64_t i = 0; i < n; ++i) sums[i] = 0;
      if (n < 4) {
        for (int64_t i = 0; i < n; ++i)
          for (int64_t l = 0; l < width; ++l) sums[i] += line[i * step + l];
      } else {
        for (int64_t l = 0; l < width; ++l) {
          if (step == 1)
            add_strided<1>(sums, line + l, n, 1);
          else if (step == 2)
            add_strided<2>(sums, line + l, n, 2);
          else
            add_strided<0>(sums, line + l, n, step);
        }
      }
      for (int64_t i = 0; i < n; ++i) to[first + i] = narrow<T>(sums[i] / this->divisor);
    }
  }
};

template <class T>
struct WindowSpread {
  using C = compute_t<T>;
  WindowSizes size;
  C divisor;
  T* y;
  const T* x;
  CG_FN void operator()(int64_t k) const {
    const auto windows = size.template place<false>(k);
    y[k] = narrow<T>(windows.template sum<C>(x + windows.plane * size.map_size(), size.map) / divisor);
  }
};
template <class T>
struct WindowSpreadLine : WindowSpread<T> {
  using C = compute_t<T>;
  // For windows of `step` elements side by side: element i of a row goes to elements i * step, ... of the result.
  template <int step>
  CG_FN void repeat(T* to, const T* row, int64_t n) const {
    for (int64_t first = 0; first < n; first += kLine) {
      const int64_t m = n - first < kLine ? n - first : kLine;
      T line[kLine];
      for (int64_t i = 0; i < m; ++i) line[i] = narrow<T>(widen(row[first + i]) / this->divisor);
      for (int64_t i = 0; i < m; ++i)
        for (int j = 0; j < step; ++j) to[(first + i) * step + j] = line[i];
    }
  }
  CG_FN void operator()(int64_t k) const {
    const WindowSizes& s = this->size;
    const auto [plane, at, from, stop] = s.template place<false, 2>(k);
    const T* p = this->x + plane * s.map_size();
    T* to = this->y + k * s.image[2];
    const int64_t step = s.stride[2];
    if (stop[0] - from[0] == 1 && stop[1] - from[1] == 1 && s.pad[2] == 0 && s.ksize[2] == step && step <= 4 &&
        s.map[2] * step == s.image[2]) {
      const T* row = p + (from[0] * s.map[1] + from[1]) * s.map[2];
      if (step == 1) return repeat<1>(to, row, s.map[2]);
      if (step == 2) return repeat<2>(to, row, s.map[2]);
      if (step == 3) return repeat<3>(to, row, s.map[2]);
      return repeat<4>(to, row, s.map[2]);
    }
    for (int64_t first = 0; first < s.image[2]; first += kLine) {
      const int64_t n = s.image[2] - first < kLine ? s.image[2] - first : kLine;
      C line[kLine];
      for (int64_t i = 0; i < n; ++i) line[i] = 0;
      for (int64_t i = from[0]; i < stop[0]; ++i)
        for (int64_t j = from[1]; j < stop[1]; ++j) {
          const T* row = p + (i * s.map[1] + j) * s.map[2];
          for (int64_t l = s.ksize[2]; l-- > 0;) {  // in this order, an element's windows are added in order
            // place l of window m is pixel m * stride - pad + l
            const int64_t shift = first + s.pad[2] - l, low = shift > 0 ? (shift + step - 1) / step : 0;
            const int64_t room = shift + n, high = room > 0 ? (room + step - 1) / step : 0;
            const int64_t end = high < s.map[2] ? high : s.map[2];
            if (step == 1) {
              CG_IVDEP
              for (int64_t m = low; m < end; ++m) line[m - shift] += widen(row[m]);
            } else {
              CG_IVDEP
              for (int64_t m = low; m < end; ++m) line[m * step - shift] += widen(row[m]);
            }
          }
        }
      for (int64_t i = 0; i < n; ++i) to[first + i] = narrow<T>(line[i] / this->divisor);
    }
  }
};

// Operands: y (planes, map), x (planes, image); for window_spread y has the shape of the image and x that of the map.
// Numbers: the divisor.
template <class Run>
Status window_sums(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    WindowSizes s;
    if (!window_sizes(c, s) || c.operands != 2 || c.n_numbers != 1 || c.sizes[0] != s.planes * s.map_size() ||
        c.sizes[1] != s.planes * s.image_size())
      return kBadCall;
    const WindowSums<T> f{s, compute_t<T>(c.numbers[0]), operand<T>(c, 0), operand<T>(c, 1)};
    const int64_t volume = s.ksize[0] * s.ksize[1] * s.ksize[2], lines = s.planes * s.map[0] * s.map[1];
    if (s.whole) return Run::each(WindowSumsLine<T>{f}, lines, c, s.map[2] * volume);
    return Run::each(f, c.sizes[0], c, volume);
  });
}
template <class Run>
Status window_spread(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    WindowSizes s;
    if (!window_sizes(c, s) || c.operands != 2 || c.n_numbers != 1 || c.sizes[0] != s.planes * s.image_size() ||
        c.sizes[1] != s.planes * s.map_size())
      return kBadCall;
    const WindowSpread<T> f{s, compute_t<T>(c.numbers[0]), operand<T>(c, 0), operand<T>(c, 1)};
    if (s.whole) return Run::each(WindowSpreadLine<T>{f}, s.planes * s.image[0] * s.image[1], c, s.image[2]);
    return Run::each(f, c.sizes[0], c, 1);
  });
}
}  // namespace cg::kernels
