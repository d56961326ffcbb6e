// Maxima over the bins of regions, of pixels or of samples between pixels.
#pragma once
#include "kernels/region_bins.h"

namespace cg::kernels {

// Where in an image a maximum is: the samples along both axes.
template <class C>
struct Spot {
  Reading<C> row, column;
};

// Bins of whole pixels, given by the first pixel and the one after the last. A place is row * width + column.
struct PixelBins {
  const int32_t *row_ranges, *column_ranges;
  // Returns false for a place outside the image.
  template <class C>
  CG_FN bool spot(const RegionSizes& s, int64_t, int32_t, int32_t, int32_t place, Spot<C>& spot) const {
    if (place < 0 || place >= s.area()) return false;
    const int32_t width = int32_t(s.width);
    spot = {{place / width, place / width, 0}, {place % width, place % width, 0}};
    return true;
  }
  CG_FN bool near(const RegionSizes&, int64_t, int64_t) const { return true; }
  CG_FN bool near(const RegionSizes& s, int64_t r, int32_t i, int64_t h) const {
    const int32_t* range = row_ranges + 2 * (r * s.rows + i);
    return h >= range[0] && h < range[1];
  }
};
// Bins of samples. A place is row * (samples along the columns) + column, counted in the bin. Coordinates are in double
// precision, because interpolation weights depend on their rounding.
struct SampleBins {
  const double* boxes;
  SampleAxis<double> rows, columns;
  template <class C>
  CG_FN bool spot(const RegionSizes&, int64_t r, int32_t i, int32_t j, int32_t place, Spot<C>& spot) const {
    const Samples<double> a = rows.of(boxes + 5 * r), b = columns.of(boxes + 5 * r);
    Reading<double> row, column;
    if (place < 0 || !b.count || place / b.count >= a.count || !rows.read(a, i, place / b.count, row) ||
        !columns.read(b, j, place % b.count, column))
      return false;
    spot = {{row.below, row.above, C(row.rest)}, {column.below, column.above, C(column.rest)}};
    return true;
  }
  CG_FN bool near(const RegionSizes& s, int64_t r, int64_t h) const {
    return rows.near(rows.of(boxes + 5 * r), 0, s.rows, h);
  }
  CG_FN bool near(const RegionSizes&, int64_t r, int32_t i, int64_t h) const {
    return rows.near(rows.of(boxes + 5 * r), i, i + 1, h);
  }
};

// The value at a spot. Pixels of weight 0 are not read, because 0 times infinity would be NaN.
template <class T>
CG_FN compute_t<T> read_spot(const T* plane, int64_t width, const Spot<compute_t<T>>& s) {
  using C = compute_t<T>;
  const auto line = [&](int32_t row) {
    const T* p = plane + row * width;
    const C low = s.column.rest < 1 ? (1 - s.column.rest) * widen(p[s.column.below]) : C(0);
    return s.column.rest > 0 ? low + s.column.rest * widen(p[s.column.above]) : low;
  };
  const C low = (1 - s.row.rest) * line(s.row.below);
  return s.row.rest > 0 ? low + s.row.rest * line(s.row.above) : low;
}

template <class T>
struct RegionMap {
  RegionSizes size;
  T* y;
  int32_t* places;  // -1: no place
  const T* x;
  const int32_t* images;
  // calls f(element, region, row and column of the bin, plane or null for an invalid image index) for the bins of a
  // call
  template <class F>
  CG_FN void bins(int64_t k, const F& f) const {
    const RegionSizes& s = size;
    const int64_t map = s.whole ? k : k / s.bins(), r = map / s.maps(), image = images[r];
    const int32_t columns = int32_t(s.columns), only = s.whole ? -1 : int32_t(k % s.bins());
    const T* planes = x + (image * s.channels + map % s.maps() * s.groups()) * s.area();
    const auto bin = [&](int32_t i, int32_t j) {
      f(map * s.bins() + i * columns + j, r, i, j,
        image >= 0 && image < s.images ? planes + s.group_of(i, j) * s.area() : nullptr);
    };
    if (only >= 0) return bin(only / columns, only % columns);
    for (int32_t i = 0; i < s.rows; ++i)
      for (int32_t j = 0; j < columns; ++j) bin(i, j);
  }
};

template <class T>
struct RegionMaxima : RegionMap<T> {
  using C = compute_t<T>;
  PixelBins at;
  C empty;
  CG_FN void operator()(int64_t k) const {
    const RegionSizes& s = this->size;
    this->bins(k, [&](int64_t to, int64_t r, int32_t i, int32_t j, const T* plane) {
      const int32_t *rows = at.row_ranges + 2 * (r * s.rows + i), *cols = at.column_ranges + 2 * (r * s.columns + j);
      C best = empty;
      int32_t place = -1;
      if (plane)
        for (int32_t h = rows[0]; h < rows[1]; ++h)
          for (int32_t w = cols[0]; w < cols[1]; ++w) {
            const C v = widen(plane[h * s.width + w]);
            // The first of equal maxima; NaN is larger than all numbers
            if (place < 0 || v > best || (v != v && best == best)) {
              best = v;
              place = int32_t(h * s.width + w);
            }
          }
      this->y[to] = narrow<T>(best);
      this->places[to] = place;
    });
  }
};

template <class T>
struct SampleMaxima : RegionMap<T> {
  using C = compute_t<T>;
  SampleBins at;
  C empty;
  CG_FN void operator()(int64_t k) const {
    const RegionSizes& s = this->size;
    this->bins(k, [&](int64_t to, int64_t r, int32_t i, int32_t j, const T* plane) {
      const Samples<double> a = at.rows.of(at.boxes + 5 * r), b = at.columns.of(at.boxes + 5 * r);
      C best = empty;
      int32_t place = -1;
      for (int64_t u = 0; plane && u < a.count; ++u) {
        Reading<double> row, column;
        if (!at.rows.read(a, i, u, row)) continue;
        for (int64_t v = 0; v < b.count; ++v) {
          if (!at.columns.read(b, j, v, column)) continue;
          const Spot<C> spot{{row.below, row.above, C(row.rest)}, {column.below, column.above, C(column.rest)}};
          const C value = read_spot(plane, s.width, spot);
          if (place >= 0 ? value > best : value > empty) {
            best = value;
            place = int32_t(u * b.count + v);
          }
        }
      }
      this->y[to] = narrow<T>(best);
      this->places[to] = place;
    });
  }
};

// Computes a map per call; the samples along the columns are computed once for all lines.
template <class T>
struct SampleMaps : SampleMaxima<T> {
  using C = compute_t<T>;
  static constexpr int kReadings = 64;
  CG_FN void operator()(int64_t map) const {
    const RegionSizes& s = this->size;
    const int64_t r = map / s.maps(), image = this->images[r];
    const Samples<double> a = this->at.rows.of(this->at.boxes + 5 * r), b = this->at.columns.of(this->at.boxes + 5 * r);
    const int32_t columns = int32_t(s.columns), count = int32_t(b.count < kReadings ? b.count : kReadings);
    if (s.groups() > 1 || columns > kReadings || b.count * columns > kReadings || image < 0 || image >= s.images)
      return SampleMaxima<T>::operator()(map);
    Reading<C> along[kReadings];
    for (int32_t j = 0; j < columns; ++j)
      for (int32_t v = 0; v < count; ++v) {
        Reading<double> read;
        Reading<C>& to = along[j * count + v];
        to.below = -1;
        if (this->at.columns.read(b, j, v, read)) to = {read.below, read.above, C(read.rest)};
      }
    const T* plane = this->x + (image * s.channels + map % s.maps()) * s.area();
    for (int32_t i = 0; i < s.rows; ++i) {
      C best[kReadings];
      int32_t found[kReadings];
      for (int32_t j = 0; j < columns; ++j) {
        best[j] = this->empty;
        found[j] = -1;
      }
      for (int64_t u = 0; u < a.count; ++u) {
        Reading<double> row;
        if (!this->at.rows.read(a, i, u, row)) continue;
        const Reading<C> down{row.below, row.above, C(row.rest)};
        for (int32_t j = 0; j < columns; ++j)
          for (int32_t v = 0; v < count; ++v) {
            const Reading<C>& read = along[j * count + v];
            if (read.below < 0) continue;
            const C value = read_spot(plane, s.width, Spot<C>{down, read});
            if (!(found[j] >= 0 ? value > best[j] : value > this->empty)) continue;
            best[j] = value;
            found[j] = int32_t(u * count + v);
          }
      }
      const int64_t to = map * s.bins() + i * columns;
      for (int32_t j = 0; j < columns; ++j) {
        this->y[to + j] = narrow<T>(best[j]);
        this->places[to + j] = found[j];
      }
    }
  }
};

// Operands: y and places (int32), both (regions, maps, rows, columns), x, images (int32), then row and column ranges
// (int32) or boxes (double). Integers: RegionSizes, then for boxes the samples per bin along both axes. Numbers: for
// boxes the scales of both axes; last, for maxima, the value of empty bins.
inline bool region_bins(const Call& c, const RegionSizes& s, PixelBins& at) {
  if (c.operands != 6 || c.sizes[4] != s.regions * s.rows * 2 || c.sizes[5] != s.regions * s.columns * 2) return false;
  at = {operand<int32_t>(c, 4), operand<int32_t>(c, 5)};
  return c.n_integers == RegionSizes::count;
}
inline bool region_bins(const Call& c, const RegionSizes& s, SampleBins& at) {
  if (c.operands != 5 || c.sizes[4] != s.regions * 5 || c.n_integers != RegionSizes::count + 2 || c.n_numbers < 2)
    return false;
  const int64_t* ratio = c.integers + RegionSizes::count;
  constexpr int64_t most = int64_t(1) << 15;  // samples along an axis, so that a place fits into an int32
  at = {operand<double>(c, 4),
        {c.numbers[0], s.rows, ratio[0], 2, s.height, most},
        {c.numbers[1], s.columns, ratio[1], 1, s.width, most}};
  return ratio[0] <= most && ratio[1] <= most;
}
template <class T, class F>
bool region_map(const Call& c, F& f) {
  if (c.operands < 5 || !region_sizes(c, c.n_integers - RegionSizes::count, f.size)) return false;
  const RegionSizes& s = f.size;
  const int64_t elements = s.regions * s.maps() * s.bins();
  if (c.sizes[0] != elements || c.sizes[1] != elements || c.sizes[2] != s.images * s.channels * s.area() ||
      c.sizes[3] != s.regions || s.area() >= (int64_t(1) << 31))
    return false;
  f.y = operand<T>(c, 0);
  f.places = operand<int32_t>(c, 1);
  f.x = operand<T>(c, 2);
  f.images = operand<int32_t>(c, 3);
  return region_bins(c, s, f.at);
}

template <class Run, class F>
Status each_map(const Call& c, const F& f) {
  const int64_t step = f.size.whole ? f.size.bins() : 1;
  return Run::each(f, c.sizes[0] / step, c, 8 * step);
}
// Functor<T> per element, or Whole<T> per map.
template <class Run, template <class> class Functor, template <class> class Whole>
Status find_maxima(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    Whole<T> f;
    if (c.n_numbers < 1 || !region_map<T>(c, f)) return kBadCall;
    f.empty = compute_t<T>(c.numbers[c.n_numbers - 1]);
    return f.size.whole ? each_map<Run>(c, f) : each_map<Run, Functor<T>>(c, f);
  });
}
template <class Run>
Status region_maxima(const Call& c) {
  return find_maxima<Run, RegionMaxima, RegionMaxima>(c);
}
template <class Run>
Status sample_maxima(const Call& c) {
  return find_maxima<Run, SampleMaxima, SampleMaps>(c);
}
}  // namespace cg::kernels
