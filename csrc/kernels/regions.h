// Weighted sums over the bins of regions, and their gradients.
#pragma once
#include <type_traits>

#include "kernels/region_bins.h"

namespace cg::kernels {

// The data about regions that sums and their gradients read.
template <class T>
struct RegionTables {
  using C = compute_t<T>;
  RegionSizes size;
  const int32_t* images;  // the image index of each region; for an invalid index all results are 0
  const C *row_weights, *column_weights;
  const int32_t *row_ranges, *column_ranges;
};

constexpr int kColumns = 64;  // columns of an image in a call's buffer

template <class T>
struct RegionSums : RegionTables<T> {
  using C = compute_t<T>;
  T* y;
  const T* x;
  CG_FN C sum(const T* plane, int64_t row, int64_t column) const {
    const int64_t width = this->size.width;
    const C *rw = this->row_weights + row * this->size.height, *cw = this->column_weights + column * width;
    const int32_t *rows = this->row_ranges + 2 * row, *columns = this->column_ranges + 2 * column;
    C sum = 0;
    for (int32_t h = rows[0]; h < rows[1]; ++h) {
      C line = 0;
      for (int32_t w = columns[0]; w < columns[1]; ++w) line += cw[w] * widen(plane[h * width + w]);
      sum += rw[h] * line;
    }
    return sum;
  }
  CG_FN void operator()(int64_t k) const {
    const RegionSizes& s = this->size;
    const int32_t o = int32_t(k % s.bins()), i = o / int32_t(s.columns), j = o % int32_t(s.columns);
    const int64_t map = k / s.bins(), r = map / s.maps(), image = this->images[r];
    C found = 0;
    if (image >= 0 && image < s.images)
      found =
          sum(x + (image * s.channels + s.channel(map % s.maps(), i, j)) * s.area(), r * s.rows + i, r * s.columns + j);
    y[k] = narrow<T>(found);
  }
};

// Computes a map per call. Rows are summed first, and all bins of a line share these sums.
template <class T>
struct RegionMaps : RegionSums<T> {
  using C = compute_t<T>;
  CG_FN void operator()(int64_t map) const {
    const RegionSizes& s = this->size;
    const int64_t r = map / s.maps(), m = map % s.maps(), image = this->images[r], width = s.width;
    const int32_t rows = int32_t(s.rows), columns = int32_t(s.columns);
    T* to = this->y + map * s.bins();
    if (image < 0 || image >= s.images) {
      for (int32_t o = 0; o < rows * columns; ++o) to[o] = narrow<T>(C(0));
      return;
    }
    const T* planes = this->x + (image * s.channels + m * s.groups()) * s.area();
    const int32_t* ranges = this->column_ranges + 2 * r * columns;
    int32_t first = int32_t(width), stop = 0;
    for (int32_t j = 0; j < columns; ++j) {
      if (ranges[2 * j] >= ranges[2 * j + 1]) continue;
      first = ranges[2 * j] < first ? ranges[2 * j] : first;
      stop = ranges[2 * j + 1] > stop ? ranges[2 * j + 1] : stop;
    }
    const bool shared = s.groups() == 1 && stop - first <= kColumns;
    for (int32_t i = 0; i < rows; ++i, to += columns) {
      const int64_t row = r * rows + i;
      if (!shared) {
        for (int32_t j = 0; j < columns; ++j)
          to[j] = narrow<T>(this->sum(planes + s.group_of(i, j) * s.area(), row, r * columns + j));
        continue;
      }
      C line[kColumns];
      for (int32_t w = 0; w < stop - first; ++w) line[w] = 0;
      const C* rw = this->row_weights + row * s.height;
      for (int32_t h = this->row_ranges[2 * row]; h < this->row_ranges[2 * row + 1]; ++h) {
        const T* p = planes + h * width + first;
        const C weight = rw[h];
        for (int32_t w = 0; w < stop - first; ++w) line[w] += weight * widen(p[w]);
      }
      for (int32_t j = 0; j < columns; ++j) {
        const C* cw = this->column_weights + (r * columns + j) * width;
        C sum = 0;
        for (int32_t w = ranges[2 * j]; w < ranges[2 * j + 1]; ++w) sum += cw[w] * line[w - first];
        to[j] = narrow<T>(sum);
      }
    }
  }
};

// The gradient of each pixel: the sum over the bins that read it, in the order of regions and bins.
template <class T>
struct RegionSumsGrad : RegionTables<T> {
  using C = compute_t<T>;
  T* gx;
  const T* gy;
  CG_FN void operator()(int64_t k) const {
    const RegionSizes& s = this->size;
    const int32_t w = int32_t(k % s.width), h = int32_t(k / s.width % s.height);
    const int64_t plane = k / s.area(), image = plane / s.channels, channel = plane % s.channels;
    const int32_t rows = int32_t(s.rows), columns = int32_t(s.columns), group = int32_t(channel % s.groups());
    C sum = 0;
    for (int64_t r = 0; r < s.regions; ++r) {
      if (this->images[r] != image) continue;
      const int32_t *down = this->row_ranges + 2 * r * rows, *along = this->column_ranges + 2 * r * columns;
      const T* g = gy + (r * s.maps() + channel / s.groups()) * s.bins();
      for (int32_t i = 0; i < rows; ++i) {
        if (h < down[2 * i] || h >= down[2 * i + 1]) continue;
        C line = 0;
        for (int32_t j = 0; j < columns; ++j)
          if (w >= along[2 * j] && w < along[2 * j + 1] && s.group_of(i, j) == group)
            line += widen(g[i * columns + j]) * this->column_weights[(r * columns + j) * s.width + w];
        sum += this->row_weights[(r * rows + i) * s.height + h] * line;
      }
    }
    gx[k] = narrow<T>(sum);
  }
};

// RegionSumsGrad with one call per plane; the bins of a line are first spread along that line.
template <class T>
struct RegionPlanes : RegionSumsGrad<T> {
  CG_FN void operator()(int64_t plane) const {
    const RegionSizes& s = this->size;
    const int64_t image = plane / s.channels, channel = plane % s.channels, width = s.width;
    const int32_t rows = int32_t(s.rows), columns = int32_t(s.columns), group = int32_t(channel % s.groups());
    T* to = this->gx + plane * s.area();
    for (int64_t k = 0; k < s.area(); ++k) to[k] = 0;
    for (int64_t r = 0; r < s.regions; ++r) {
      if (this->images[r] != image) continue;
      const int32_t *down = this->row_ranges + 2 * r * rows, *along = this->column_ranges + 2 * r * columns;
      const T* g = this->gy + (r * s.maps() + channel / s.groups()) * s.bins();
      for (int32_t i = 0; i < rows; ++i)
        for (int32_t from = 0; from < width && down[2 * i] < down[2 * i + 1]; from += kColumns) {
          T line[kColumns];
          for (int32_t w = 0; w < kColumns; ++w) line[w] = 0;
          int32_t first = kColumns, stop = 0;
          for (int32_t j = 0; j < columns; ++j) {
            const int32_t a = along[2 * j] > from ? along[2 * j] - from : 0;
            const int32_t b = along[2 * j + 1] - from < kColumns ? along[2 * j + 1] - from : kColumns;
            if (a >= b || s.group_of(i, j) != group) continue;
            const T* cw = this->column_weights + (r * columns + j) * width + from;
            for (int32_t w = a; w < b; ++w) line[w] += g[i * columns + j] * cw[w];
            first = a < first ? a : first;
            stop = b > stop ? b : stop;
          }
          for (int32_t h = down[2 * i]; h < down[2 * i + 1]; ++h) {
            const T weight = this->row_weights[(r * rows + i) * s.height + h];
            T* p = to + h * width + from;
            for (int32_t w = first; w < stop; ++w) p[w] += weight * line[w];
          }
        }
    }
  }
};

// Operands: y (regions, maps, rows, columns), x (images, channels, height, width), images (int32), then row weights,
// row ranges (int32), column weights and column ranges as of region_weights. Integers: RegionSizes.
template <class T>
bool region_tables(const Call& c, RegionTables<T>& t) {
  RegionSizes& s = t.size;
  if (c.operands != 7 || !region_sizes(c, 0, s)) return false;
  using C = compute_t<T>;
  t.images = operand<int32_t>(c, 2);
  t.row_weights = operand<C>(c, 3);
  t.row_ranges = operand<int32_t>(c, 4);
  t.column_weights = operand<C>(c, 5);
  t.column_ranges = operand<int32_t>(c, 6);
  const int64_t sizes[] = {
      s.regions * s.maps() * s.bins(), s.images * s.channels * s.area(), s.regions,
      s.regions * s.rows * s.height,   s.regions * s.rows * 2,           s.regions * s.columns * s.width,
      s.regions * s.columns * 2};
  for (int k = 0; k < 7; ++k)
    if (c.sizes[k] != sizes[k]) return false;
  return true;
}
template <class Run>
Status region_sums(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    RegionMaps<T> f;
    if (!region_tables<T>(c, f)) return kBadCall;
    f.y = operand<T>(c, 0);
    f.x = operand<T>(c, 1);
    const int64_t bins = f.size.bins();
    if (f.size.whole) return Run::each(f, c.sizes[0] / bins, c, 8 * bins);
    return Run::template each<RegionSums<T>>(f, c.sizes[0], c, 8);
  });
}
// The operands of region_sums, with the gradient of y in place of y, and the gradient of x as the result. A plane is
// summed in place, so it may not have 16 bits.
template <class Run>
Status region_sums_grad(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    constexpr bool planes = std::is_same_v<T, compute_t<T>>;
    std::conditional_t<planes, RegionPlanes<T>, RegionSumsGrad<T>> f;
    if (!region_tables<T>(c, f)) return kBadCall;
    f.gy = operand<T>(c, 0);
    f.gx = operand<T>(c, 1);
    const RegionSizes& s = f.size;
    if (s.whole) {
      if constexpr (planes) return Run::each(f, s.images * s.channels, c, s.area() + s.regions * s.bins() + 1);
      return kBadCall;
    }
    return Run::template each<RegionSumsGrad<T>>(f, c.sizes[1], c, s.regions + 1);
  });
}

}  // namespace cg::kernels
