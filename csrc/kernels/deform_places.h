// Samples of images between pixels, at positions shifted by a tensor of offsets: columns and gradients of deformable
// convolution.
//
// Position (tap, place) of a group of channels reads the image at (place * stride - pad + tap * dilate + offset), by
// bilinear interpolation. A position's factors multiply the sample (order 0) or its derivatives by the row (1), the
// column (2), or both (3). So three kernels (columns, their transpose, and the factors' gradients) suffice for values
// and derivatives of any order. A call computes some channels at one position or, on a CPU, at kSpan positions, for
// which coordinates and weights are computed once.
#pragma once
#include "kernels/call.h"

namespace cg::kernels {

constexpr int kSpan = 64;  // positions of a call on a CPU
constexpr int kCorners = 4;

struct DeformSizes {
  int64_t images, channels, height, width, groups;  // groups of channels, each with its own offsets
  int64_t taps_h, taps_w, out_h, out_w;
  int64_t stride_h, stride_w, pad_h, pad_w, dilate_h, dilate_w;
  int64_t border;  // 0: beyond the centres of the outermost pixels, samples decrease to zero over one pixel; 1: the
                   // same, and samples at NaN are NaN; 2: see `clamp` of DeformAxis
  int64_t orders;  // how many factors a position has,
  int64_t order[4];
  int64_t together;  // channels per call
  int64_t whole;     // whether a call computes kSpan positions, or planes
  static constexpr int count = 23;

  CG_FN int64_t area() const { return height * width; }
  CG_FN int64_t taps() const { return taps_h * taps_w; }
  CG_FN int64_t places() const { return out_h * out_w; }
  CG_FN int64_t group_size() const { return channels / groups; }
  CG_FN int64_t parts() const { return (group_size() + together - 1) / together; }  // calls for the channels of a group
};
inline bool deform_sizes(const Call& c, DeformSizes& s) {
  if (c.n_integers != DeformSizes::count) return false;
  const int64_t* v = c.integers;
  s = {v[0],  v[1],  v[2],  v[3],  v[4],  v[5],  v[6],  v[7],  v[8],
       v[9],  v[10], v[11], v[12], v[13], v[14], v[15], v[16], {v[17], v[18], v[19], v[20]},
       v[21], v[22]};
  if (s.groups < 1 || s.channels % s.groups || s.together < 1 || s.orders < 1 || s.orders > 4) return false;
  for (int64_t j = 0; j < s.orders; ++j)
    if (s.order[j] < 0 || s.order[j] > 3) return false;
  return s.area() < (int64_t(1) << 31);
}

// The pixels on both sides of a coordinate along one axis, and their weights in the value and the derivative there.
// `clamp`: only coordinates in [0, length) give a value, and from the centre of the last pixel on the value is
// constant. At NaN the value is 0, or with `nan` NaN, read from the first pixel.
template <class C>
struct DeformAxis {
  int32_t low, high;
  C values[2], slopes[2];
  CG_FN DeformAxis(C at, int64_t length, bool clamp, bool nan) {
    const C first = clamp ? C(0) : C(-1), last = C(length);
    const bool inside = (clamp ? at >= first : at > first) && at < last;
    const C floor = inside ? math::floor(at) : C(0), rest = inside ? at - floor : C(0);
    const int32_t below = int32_t(floor), end = int32_t(length) - 1;
    const bool a = inside && below >= 0, b = inside && below < end, still = clamp && below >= end;
    low = below < 0 ? 0 : below;
    high = below < end ? below + 1 : end;
    values[0] = a ? (still ? C(1) : C(1) - rest) : nan && at != at ? at : C(0);
    values[1] = b ? rest : C(0);
    slopes[0] = a && !still ? C(-1) : C(0);
    slopes[1] = b ? C(1) : C(0);
  }
};

template <class T>
struct DeformTables {
  using C = compute_t<T>;
  DeformSizes size;
  const T* offset;   // (images, groups, taps, 2, places): rows, columns
  const T* factors;  // (images, groups, taps, orders, places); null: 1
};

// The pixels of a plane that positions [first, first + n) of a tap read.
template <class C, int span>
struct DeformPixels {
  int32_t at[kCorners][span];
  C rows[4][span], columns[4][span];  // weights of values (low, high) and of derivatives (low, high)

  template <class T>
  CG_FN void find(const DeformTables<T>& t, int64_t group, int64_t tap, int64_t first, int n) {
    const DeformSizes& s = t.size;
    const T* offset = t.offset + (group * s.taps() + tap) * 2 * s.places() + first;
    const int32_t start_h = int32_t(tap / s.taps_w * s.dilate_h - s.pad_h), width = int32_t(s.width);
    const int32_t start_w = int32_t(tap % s.taps_w * s.dilate_w - s.pad_w);
    int32_t row = int32_t(first / s.out_w), column = int32_t(first - row * s.out_w), h0[span], w0[span];
    for (int i = 0; i < n; ++i) {
      h0[i] = row * int32_t(s.stride_h) + start_h;
      w0[i] = column * int32_t(s.stride_w) + start_w;
      if (++column == s.out_w) {
        column = 0;
        ++row;
      }
    }
    const bool clamp = s.border == 2, nan = s.border == 1;
    CG_IVDEP
    for (int i = 0; i < n; ++i) {
      const DeformAxis<C> h(C(h0[i]) + widen(offset[i]), s.height, clamp, nan);
      const DeformAxis<C> w(C(w0[i]) + widen(offset[s.places() + i]), s.width, clamp, nan);
      at[0][i] = h.low * width + w.low;
      at[1][i] = h.low * width + w.high;
      at[2][i] = h.high * width + w.low;
      at[3][i] = h.high * width + w.high;
      for (int k = 0; k < 2; ++k) {
        rows[k][i] = h.values[k];
        rows[2 + k][i] = h.slopes[k];
        columns[k][i] = w.values[k];
        columns[2 + k][i] = w.slopes[k];
      }
    }
  }
  // The weight of a corner pixel in a sample, or in its derivative.
  CG_FN C weight(int64_t order, int corner, int i) const {
    const int h = int(order & 1) * 2 + corner / 2, w = int(order >> 1) * 2 + corner % 2;
    return rows[h][i] * columns[w][i];
  }
};
// The pixels that positions read, with the weights of each pixel summed over a position's factors.
template <class C, int span>
struct DeformWeights {
  DeformPixels<C, span> pixels;
  C weight[kCorners][span];
  template <class T>
  CG_FN void find(const DeformTables<T>& t, int64_t group, int64_t tap, int64_t first, int n) {
    pixels.find(t, group, tap, first, n);
    const DeformSizes& s = t.size;
    for (int64_t j = 0; j < s.orders; ++j) {
      const T* factors = t.factors + ((group * s.taps() + tap) * s.orders + j) * s.places() + first;
      for (int corner = 0; corner < kCorners; ++corner)
        for (int i = 0; i < n; ++i) {
          const C w = (t.factors ? widen(factors[i]) : C(1)) * pixels.weight(s.order[j], corner, i);
          weight[corner][i] = j ? weight[corner][i] + w : w;
        }
    }
  }
};
// A pixel of weight 0 contributes 0, even if it is infinite.
template <class C>
CG_FN C weighed(C weight, C x) {
  return weight != C(0) ? weight * x : C(0);
}

}  // namespace cg::kernels
