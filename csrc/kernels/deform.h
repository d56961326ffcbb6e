// The columns of deformable convolution, their transpose, and the gradients of a position's factors: see
// deform_places.h.
#pragma once
#include <initializer_list>
#include <type_traits>

#include "kernels/deform_places.h"

namespace cg::kernels {

// Columns of shape (images, channels, taps, places).
template <class T, int span>
struct DeformColumns : DeformTables<T> {
  using C = compute_t<T>;
  T* y;
  const T* x;
  CG_FN void operator()(int64_t k) const {
    const DeformSizes& s = this->size;
    const int64_t places = s.places(), spans = (places + span - 1) / span;
    const int64_t first = k % spans * span, tap = k / spans % s.taps(), part = k / spans / s.taps();
    const int64_t group = part / s.parts(), from = part % s.parts() * s.together;
    const int64_t end = from + s.together < s.group_size() ? from + s.together : s.group_size();
    const int n = int(places - first < span ? places - first : span);
    DeformWeights<C, span> w;
    w.find(*this, group, tap, first, n);
    for (int64_t c = group * s.group_size() + from; c < group * s.group_size() + end; ++c) {
      const T* plane = x + c * s.area();
      T* to = y + (c * s.taps() + tap) * places + first;
      CG_IVDEP
      for (int i = 0; i < n; ++i) {
        C sum = weighed(w.weight[0][i], C(widen(plane[w.pixels.at[0][i]])));
        for (int corner = 1; corner < kCorners; ++corner)
          sum += weighed(w.weight[corner][i], C(widen(plane[w.pixels.at[corner][i]])));
        to[i] = narrow<T>(sum);
      }
    }
  }
};
// The gradient of the images: a call computes some channels of an image. Positions are added in the order of tap, place
// and corner.
template <class T>
struct DeformPlanes : DeformTables<T> {
  T* gx;
  const T* gy;
  CG_FN void operator()(int64_t part) const {
    const DeformSizes& s = this->size;
    const int64_t places = s.places(), group = part / s.parts(), from = part % s.parts() * s.together;
    const int64_t end = from + s.together < s.group_size() ? from + s.together : s.group_size();
    T* planes = gx + (group * s.group_size() + from) * s.area();
    for (int64_t i = 0; i < (end - from) * s.area(); ++i) planes[i] = T(0);
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      for (int64_t first = 0; first < places; first += kSpan) {
        const int n = int(places - first < kSpan ? places - first : kSpan);
        DeformWeights<T, kSpan> w;
        w.find(*this, group, tap, first, n);
        for (int64_t c = 0; c < end - from; ++c) {
          const T* g = gy + ((group * s.group_size() + from + c) * s.taps() + tap) * places + first;
          T* to = planes + c * s.area();
          for (int i = 0; i < n; ++i)
            for (int corner = 0; corner < kCorners; ++corner)
              to[w.pixels.at[corner][i]] += weighed(w.weight[corner][i], g[i]);
        }
      }
  }
};
// DeformPlanes, but computed per pixel from a list of its readers: the entries (tap, place, corner) sorted by the pixel
// that they read, and entries that read the same pixel in their own order.
template <class T>
struct DeformGather {
  using C = compute_t<T>;
  DeformSizes size;
  T* gx;
  const T* gy;
  const C* weights;       // (images * groups, entries)
  const int32_t* order;   // (images * groups, entries)
  const int32_t* starts;  // (images * groups, area + 1): where the entries of each pixel begin in `order`
  CG_FN void operator()(int64_t k) const {
    const DeformSizes& s = this->size;
    const int64_t pixel = k % s.area(), part = k / s.area(), group = part / s.parts();
    const int64_t from = part % s.parts() * s.together, entries = s.taps() * s.places() * kCorners;
    const int64_t end = from + s.together < s.group_size() ? from + s.together : s.group_size();
    const int32_t* list = starts + group * (s.area() + 1) + pixel;
    for (int64_t c = group * s.group_size() + from; c < group * s.group_size() + end; ++c) {
      const T* g = gy + c * s.taps() * s.places();
      C sum = 0;
      for (int32_t e = list[0]; e < list[1]; ++e) {
        const int32_t entry = order[group * entries + e];
        sum += weights[group * entries + entry] * widen(g[entry / kCorners]);
      }
      gx[c * s.area() + pixel] = narrow<T>(sum);
    }
  }
};

// The gradient of a position's factors, of shape (images, groups, taps, orders, places): sums over channels.
template <class T, int span>
struct DeformFactors : DeformTables<T> {
  using C = compute_t<T>;
  T* y;
  const T *gy, *x;
  CG_FN void operator()(int64_t k) const {
    const DeformSizes& s = this->size;
    const int64_t places = s.places(), spans = (places + span - 1) / span;
    const int64_t first = k % spans * span, tap = k / spans % s.taps(), group = k / spans / s.taps();
    const int n = int(places - first < span ? places - first : span);
    DeformPixels<C, span> pixels;
    pixels.find(*this, group, tap, first, n);
    C sums[kCorners][span];
    for (int corner = 0; corner < kCorners; ++corner)
      for (int i = 0; i < n; ++i) sums[corner][i] = 0;
    for (int64_t c = group * s.group_size(); c < (group + 1) * s.group_size(); ++c) {
      const T *plane = x + c * s.area(), *g = gy + (c * s.taps() + tap) * places + first;
      CG_IVDEP
      for (int i = 0; i < n; ++i)
        for (int corner = 0; corner < kCorners; ++corner)
          sums[corner][i] += C(widen(g[i])) * C(widen(plane[pixels.at[corner][i]]));
    }
    for (int64_t j = 0; j < s.orders; ++j) {
      T* to = y + ((group * s.taps() + tap) * s.orders + j) * places + first;
      for (int i = 0; i < n; ++i) {
        C sum = 0;
        for (int corner = 0; corner < kCorners; ++corner)
          sum += weighed(pixels.weight(s.order[j], corner, i), sums[corner][i]);
        to[i] = narrow<T>(sum);
      }
    }
  }
};

inline bool deform_operands(const Call& c, const DeformSizes& s, std::initializer_list<int64_t> sizes, int optional) {
  if (c.operands != int(sizes.size())) return false;
  int k = 0;
  for (const int64_t size : sizes) {
    if (c.sizes[k] != size && !(k == optional && !c.data[k] && s.orders == 1)) return false;
    ++k;
  }
  return true;
}

// Operands: columns, images, offset, factors (may be absent if there is one per position).
template <class Run>
Status deform_columns(const Call& c) {
  DeformSizes s;
  if (!deform_sizes(c, s)) return kBadCall;
  const int64_t positions = s.images * s.groups * s.taps() * s.places(), columns = positions * s.group_size();
  if (!deform_operands(c, s, {columns, s.images * s.channels * s.area(), 2 * positions, s.orders * positions}, 3))
    return kBadCall;
  return by_dtype(c, [&]<class T>() {
    const auto run = [&]<int span>() {
      DeformColumns<T, span> f;
      f.size = s;
      f.y = operand<T>(c, 0);
      f.x = operand<T>(c, 1);
      f.offset = operand<T>(c, 2);
      f.factors = operand<T>(c, 3);
      const int64_t spans = (s.places() + span - 1) / span;
      return Run::each(f, s.images * s.groups * s.parts() * s.taps() * spans, c, span * kCorners * s.together);
    };
    return s.whole ? run.template operator()<kSpan>() : run.template operator()<1>();
  });
}
// Operands: the gradient of the images, the gradient of the columns, then offset and factors; or, if the gradient is
// computed per pixel (always with 16-bit numbers), weights, order and starts of DeformGather.
template <class Run>
Status deform_columns_grad(const Call& c) {
  DeformSizes s;
  if (!deform_sizes(c, s)) return kBadCall;
  const int64_t positions = s.images * s.groups * s.taps() * s.places(), columns = positions * s.group_size();
  const int64_t pixels = s.images * s.channels * s.area(), calls = s.images * s.groups * s.parts();
  return by_dtype(c, [&]<class T>() -> Status {
    if (s.whole) {
      if constexpr (std::is_same_v<T, compute_t<T>>) {
        if (!deform_operands(c, s, {pixels, columns, 2 * positions, s.orders * positions}, 3)) return kBadCall;
        DeformPlanes<T> f;
        f.size = s;
        f.gx = operand<T>(c, 0);
        f.gy = operand<T>(c, 1);
        f.offset = operand<T>(c, 2);
        f.factors = operand<T>(c, 3);
        return Run::each(f, calls, c, s.together * (s.area() + s.taps() * s.places() * kCorners));
      }
      return kBadCall;
    }
    const int64_t entries = kCorners * positions, starts = s.images * s.groups * (s.area() + 1);
    if (entries >= (int64_t(1) << 31) || !deform_operands(c, s, {pixels, columns, entries, entries, starts}, -1))
      return kBadCall;
    const DeformGather<T> f{s,
                            operand<T>(c, 0),
                            operand<T>(c, 1),
                            operand<compute_t<T>>(c, 2),
                            operand<int32_t>(c, 3),
                            operand<int32_t>(c, 4)};
    return Run::each(f, calls * s.area(), c, s.together * kCorners);
  });
}
// Operands: the gradient of the factors, the gradient of the columns, images, offset.
template <class Run>
Status deform_factors_grad(const Call& c) {
  DeformSizes s;
  if (!deform_sizes(c, s)) return kBadCall;
  const int64_t positions = s.images * s.groups * s.taps() * s.places(), columns = positions * s.group_size();
  if (!deform_operands(c, s, {s.orders * positions, columns, s.images * s.channels * s.area(), 2 * positions}, -1))
    return kBadCall;
  return by_dtype(c, [&]<class T>() {
    const auto run = [&]<int span>() {
      DeformFactors<T, span> f;
      f.size = s;
      f.y = operand<T>(c, 0);
      f.gy = operand<T>(c, 1);
      f.x = operand<T>(c, 2);
      f.offset = operand<T>(c, 3);
      f.factors = nullptr;
      const int64_t spans = (s.places() + span - 1) / span;
      return Run::each(f, s.images * s.groups * s.taps() * spans, c, span * kCorners * s.group_size());
    };
    return s.whole ? run.template operator()<kSpan>() : run.template operator()<1>();
  });
}

}  // namespace cg::kernels
