// Reads pixels at the places where maxima over the bins of regions were found, and the gradient of this linear
// function.
#pragma once
#include <type_traits>

#include "kernels/region_maxima.h"

namespace cg::kernels {

// y = the pixels at the places; 0 where there is no place.
template <class T, class Bins>
struct Picks : RegionMap<T> {
  using C = compute_t<T>;
  Bins at;
  CG_FN void operator()(int64_t k) const {
    this->bins(k, [&](int64_t to, int64_t r, int32_t i, int32_t j, const T* plane) {
      Spot<C> spot;
      const bool some = plane && at.spot(this->size, r, i, j, this->places[to], spot);
      this->y[to] = narrow<T>(some ? read_spot(plane, this->size.width, spot) : C(0));
    });
  }
};

// The gradient: the result x has, for each pixel, the sum of y over the bins whose place is this pixel.
template <class T, class Bins>
struct PicksGrad : RegionMap<T> {
  using C = compute_t<T>;
  Bins at;
  CG_FN static C share(const Reading<C>& r, int32_t at) {
    const C low = r.below == at ? 1 - r.rest : C(0);
    return r.above == at ? low + r.rest : low;
  }
  CG_FN void operator()(int64_t k) const {
    const RegionSizes& s = this->size;
    const int32_t w = int32_t(k % s.width), h = int32_t(k / s.width % s.height);
    const int64_t plane = k / s.area(), image = plane / s.channels, channel = plane % s.channels;
    C sum = 0;
    for (int64_t r = 0; r < s.regions; ++r) {
      if (this->images[r] != image || !at.near(s, r, h)) continue;
      const int64_t first = (r * s.maps() + channel / s.groups()) * s.bins();
      for (int32_t i = 0; i < s.rows; ++i) {
        if (!at.near(s, r, i, h)) continue;
        for (int32_t j = 0; j < s.columns; ++j) {
          const int64_t o = first + i * s.columns + j;
          Spot<C> spot;
          if (s.group_of(i, j) != channel % s.groups() || !at.spot(s, r, i, j, this->places[o], spot)) continue;
          const C weight = share(spot.row, h) * share(spot.column, w);
          if (weight > 0) sum += weight * widen(this->y[o]);
        }
      }
    }
    const_cast<T*>(this->x)[k] = narrow<T>(sum);
  }
};

// PicksGrad with one call per plane.
template <class T, class Bins>
struct PicksPlanes : PicksGrad<T, Bins> {
  CG_FN void operator()(int64_t plane) const {
    const RegionSizes& s = this->size;
    const int64_t image = plane / s.channels, channel = plane % s.channels;
    T* to = const_cast<T*>(this->x) + plane * s.area();
    for (int64_t k = 0; k < s.area(); ++k) to[k] = 0;
    for (int64_t r = 0; r < s.regions; ++r) {
      if (this->images[r] != image) continue;
      int64_t o = (r * s.maps() + channel / s.groups()) * s.bins();
      for (int32_t i = 0; i < s.rows; ++i)
        for (int32_t j = 0; j < s.columns; ++j, ++o) {
          Spot<T> spot;
          if (s.group_of(i, j) != channel % s.groups() || !this->at.spot(s, r, i, j, this->places[o], spot)) continue;
          const auto line = [&](int32_t row, T weight) {
            T* p = to + row * s.width;
            const T g = weight * this->y[o];
            if (spot.column.rest < 1) p[spot.column.below] += (1 - spot.column.rest) * g;
            if (spot.column.rest > 0) p[spot.column.above] += spot.column.rest * g;
          };
          line(spot.row.below, 1 - spot.row.rest);
          if (spot.row.rest > 0) line(spot.row.above, spot.row.rest);
        }
    }
  }
};

template <class Run, class Bins>
Status read_picks(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    Picks<T, Bins> f;
    if (!region_map<T>(c, f)) return kBadCall;
    return each_map<Run>(c, f);
  });
}
template <class Run, class Bins>
Status spread_picks(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    constexpr bool planes = std::is_same_v<T, compute_t<T>>;
    std::conditional_t<planes, PicksPlanes<T, Bins>, PicksGrad<T, Bins>> f;
    if (!region_map<T>(c, f)) return kBadCall;
    const RegionSizes& s = f.size;
    if (s.whole) {
      if constexpr (planes) return Run::each(f, s.images * s.channels, c, s.area() + s.regions * s.bins() + 1);
      return kBadCall;
    }
    return Run::template each<PicksGrad<T, Bins>>(f, c.sizes[2], c, s.regions + 1);
  });
}

template <class Run>
Status region_picks(const Call& c) {
  return read_picks<Run, PixelBins>(c);
}
template <class Run>
Status sample_picks(const Call& c) {
  return read_picks<Run, SampleBins>(c);
}
template <class Run>
Status region_picks_grad(const Call& c) {
  return spread_picks<Run, PixelBins>(c);
}
template <class Run>
Status sample_picks_grad(const Call& c) {
  return spread_picks<Run, SampleBins>(c);
}

}  // namespace cg::kernels
