// Regions of images as maps of bins: the geometry of bins, and weighted sums over them.
//
// A region's bins are the pairs of its row bins and its column bins; the weight of a pixel in a bin is its row weight
// times its column weight. On a GPU one call computes an element of the result, so that no atomic operation is needed;
// on a CPU (`whole`) one call computes a map, or a plane of an image, so that bins share computations about a region
// and memory is read in order.
#pragma once
#include "kernels/call.h"

namespace cg::kernels {

// The integers of every kernel on regions, in this order.
struct RegionSizes {
  int64_t regions, images, channels, height, width;  // channels of the images
  int64_t rows, columns;                             // bins of a region
  // Position-sensitive maps: each group of bins reads its own channel; otherwise 1, 1
  int64_t group_rows, group_columns;
  int64_t whole;  // a call computes a map or a plane; otherwise an element
  static constexpr int count = 10;

  CG_FN int64_t bins() const { return rows * columns; }
  CG_FN int64_t groups() const { return group_rows * group_columns; }
  CG_FN int64_t maps() const { return channels / groups(); }  // channels of the result
  CG_FN int64_t area() const { return height * width; }
  CG_FN int32_t group_of(int32_t row, int32_t column) const {
    if (groups() == 1) return 0;
    return int32_t(row * group_rows / rows * group_columns + column * group_columns / columns);
  }
  // The channel that a bin of map `m` reads.
  CG_FN int64_t channel(int64_t m, int32_t row, int32_t column) const { return m * groups() + group_of(row, column); }
};
inline bool region_sizes(const Call& c, int more, RegionSizes& s) {
  if (c.n_integers != RegionSizes::count + more) return false;
  const int64_t* v = c.integers;
  s = {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]};
  for (int k = 5; k < 9; ++k)
    if (v[k] < 1) return false;
  return s.channels % s.groups() == 0;
}

// One axis of a region, with samples between pixels.
template <class F>
struct Samples {
  F start, step, distance;  // start and step of bins; distance of the samples in a bin
  int64_t count;
};
// A sample between two pixels: (1 - rest) of the lower and rest of the upper one.
template <class F>
struct Reading {
  int32_t below, above;
  F rest;
};
template <class F>
struct SampleAxis {
  F scale;
  int64_t bins, ratio;  // ratio: samples per bin; <= 0: about one sample per pixel
  int column;           // column of the boxes with the axis' lower edge; the upper edge is two columns further
  int64_t length;       // of the images
  int64_t most = int64_t(1) << 24;  // maximum of samples per bin; a bin that would need more gets none

  CG_FN Samples<F> of(const F* box) const {
    const F start = box[column] * scale - F(0.5), step = (box[column + 2] * scale - F(0.5) - start) / F(bins);
    const int64_t count = ratio > 0 ? ratio : step > 0 && step < F(most) ? -int64_t(math::floor(-step)) : 0;
    return {start, step, step / F(count ? count : 1), count};
  }
  // Whether sample j of a bin is on the image, or less than a pixel outside it.
  CG_FN bool read(const Samples<F>& s, int64_t bin, int64_t j, Reading<F>& r) const {
    F at = s.start + F(bin) * s.step + (F(j) + F(0.5)) * s.distance;
    if (!(at >= F(-1) && at <= F(length)) || length == 0) return false;
    at = at < 0 ? F(0) : at > F(length - 1) ? F(length - 1) : at;
    r.below = int32_t(at);
    r.above = r.below + 1 < length ? r.below + 1 : r.below;
    r.rest = at - F(r.below);
    return true;
  }
  // Whether a sample of bins [first, stop) may read pixel `p`.
  CG_FN bool near(const Samples<F>& s, int64_t first, int64_t stop, int64_t p) const {
    const F a = s.start + F(first) * s.step, b = s.start + F(stop) * s.step, low = math::min(a, b);
    const F high = math::max(a, b), margin = F(1.01), at = F(p);
    return (at + margin >= low || p == length - 1) && (at - margin <= high || p == 0);
  }
};

// For each bin along one axis, the mean of its samples as weights of pixels, and the range of pixels with weights other
// than 0. Operands: weights (regions, bins, length), ranges (regions, bins, 2) of int32, boxes (regions, 5). Numbers:
// the scale. Integers: regions, bins, length, samples of a bin, the column.
template <class F>
struct RegionWeights {
  F* weights;
  int32_t* ranges;
  const F* boxes;
  SampleAxis<F> axis;
  CG_FN void operator()(int64_t k) const {
    const Samples<F> s = axis.of(boxes + k / axis.bins * 5);
    F* w = weights + k * axis.length;
    for (int64_t i = 0; i < axis.length; ++i) w[i] = 0;
    int32_t first = int32_t(axis.length), stop = 0;
    for (int64_t j = 0; j < s.count; ++j) {
      Reading<F> r;
      if (!axis.read(s, k % axis.bins, j, r)) continue;
      const int32_t end = (r.rest > 0 ? r.above : r.below) + 1;
      w[r.below] += (1 - r.rest) / F(s.count);
      w[r.above] += r.rest / F(s.count);
      first = r.below < first ? r.below : first;
      stop = end > stop ? end : stop;
    }
    ranges[2 * k] = first < stop ? first : 0;
    ranges[2 * k + 1] = stop;
  }
};
template <class Run>
Status region_weights(const Call& c) {
  if (c.operands != 3 || c.n_numbers != 1 || c.n_integers != 5) return kBadCall;
  const auto run = [&]<class F>() {
    const int64_t* v = c.integers;
    const SampleAxis<F> axis{F(c.numbers[0]), v[1], v[3], int(v[4]), v[2]};
    if (c.sizes[0] != v[0] * v[1] * v[2] || c.sizes[1] != v[0] * v[1] * 2 || c.sizes[2] != v[0] * 5) return kBadCall;
    const RegionWeights<F> f{operand<F>(c, 0), operand<int32_t>(c, 1), operand<F>(c, 2), axis};
    return Run::each(f, v[0] * v[1], c, v[2]);
  };
  if (c.dtype == DType::f64) return run.template operator()<double>();
  return c.dtype == DType::f32 ? run.template operator()<float>() : kBadCall;
}

}  // namespace cg::kernels
