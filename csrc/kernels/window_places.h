// One chosen place of each window over the last axes of images: the pixel at that place, and the transpose.
#pragma once
#include "kernels/window.h"

namespace cg::kernels {

// For each pixel the sum of the elements whose place is that pixel. places: int32 positions inside the window, in C
// order.
template <class T>
struct WindowScatter {
  using C = compute_t<T>;
  WindowSizes size;
  T* y;
  const T* x;
  const int32_t* places;
  CG_FN void operator()(int64_t k) const {
    const auto [plane, at, from, stop] = size.template place<false>(k);
    C sum = 0;
    for (int64_t i = from[0]; i < stop[0]; ++i)
      for (int64_t j = from[1]; j < stop[1]; ++j) {
        const int64_t row = ((plane * size.map[0] + i) * size.map[1] + j) * size.map[2];
        const int64_t place =
            ((at[0] - size.start(0, i)) * size.ksize[1] + at[1] - size.start(1, j)) * size.ksize[2] + at[2];
        for (int64_t l = from[2]; l < stop[2]; ++l)
          sum += places[row + l] == place - size.start(2, l) ? C(widen(x[row + l])) : C(0);
      }
    y[k] = narrow<T>(sum);
  }
};
template <class T>
struct WindowScatterLine : WindowScatter<T> {
  using C = compute_t<T>;
  CG_FN void operator()(int64_t k) const {
    const WindowSizes& s = this->size;
    const auto [plane, at, from, stop] = s.template place<false, 2>(k);
    T* to = this->y + k * s.image[2];
    for (int64_t first = 0; first < s.image[2]; first += kLine) {
      const int64_t n = s.image[2] - first < kLine ? s.image[2] - first : kLine;
      int64_t begin, last, end;
      s.around(2, first, begin, last);
      s.around(2, first + n - 1, last, end);
      C line[kLine];
      for (int64_t i = 0; i < n; ++i) line[i] = 0;
      for (int64_t i = from[0]; i < stop[0]; ++i)
        for (int64_t j = from[1]; j < stop[1]; ++j) {
          const int64_t row = ((plane * s.map[0] + i) * s.map[1] + j) * s.map[2];
          const int64_t place = ((at[0] - s.start(0, i)) * s.ksize[1] + at[1] - s.start(1, j)) * s.ksize[2];
          for (int64_t m = begin; m < end; ++m) {
            const int64_t l = this->places[row + m] - place, i = s.start(2, m) + l - first;
            if (l >= 0 && l < s.ksize[2] && i >= 0 && i < n) line[i] += widen(this->x[row + m]);
          }
        }
      for (int64_t i = 0; i < n; ++i) to[first + i] = narrow<T>(line[i]);
    }
  }
};
// For each window the pixel at its place; 0 beyond the image.
template <class T>
struct WindowPicks {
  using C = compute_t<T>;
  WindowSizes size;
  T* y;
  const T* x;
  const int32_t* places;
  CG_FN void operator()(int64_t k) const {
    const auto [plane, at, from, stop] = size.template place<true>(k);
    const int32_t place = places[k], columns = int32_t(size.ksize[2]), rows = int32_t(size.ksize[1]);
    const int64_t i = size.start(0, at[0]) + place / (rows * columns), l = size.start(2, at[2]) + place % columns;
    const int64_t j = size.start(1, at[1]) + place / columns % rows;
    const bool inside = i >= 0 && i < size.image[0] && j >= 0 && j < size.image[1] && l >= 0 && l < size.image[2];
    const int64_t pixel = inside ? (i * size.image[1] + j) * size.image[2] + l : 0;
    y[k] = inside ? x[plane * size.image_size() + pixel] : narrow<T>(C(0));
  }
};

// Operands: y (planes, image), x (planes, map), places.
template <class Run>
Status window_scatter(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    WindowSizes s;
    if (!window_sizes(c, s) || c.operands != 3 || c.sizes[0] != s.planes * s.image_size() ||
        c.sizes[1] != s.planes * s.map_size() || c.sizes[2] != c.sizes[1])
      return kBadCall;
    const WindowScatter<T> f{s, operand<T>(c, 0), operand<T>(c, 1), operand<int32_t>(c, 2)};
    if (s.whole) return Run::each(WindowScatterLine<T>{f}, s.planes * s.image[0] * s.image[1], c, 2 * s.image[2]);
    return Run::each(f, c.sizes[0], c, 4);
  });
}
// Operands: y (planes, map), x (planes, image), places. A call computes an element.
template <class Run>
Status window_picks(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    WindowSizes s;
    if (!window_sizes(c, s) || c.operands != 3 || c.sizes[0] != s.planes * s.map_size() ||
        c.sizes[1] != s.planes * s.image_size() || c.sizes[2] != c.sizes[0])
      return kBadCall;
    return Run::each(WindowPicks<T>{s, operand<T>(c, 0), operand<T>(c, 1), operand<int32_t>(c, 2)}, c.sizes[0], c, 4);
  });
}

}  // namespace cg::kernels
