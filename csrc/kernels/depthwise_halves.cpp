#include "kernels/depthwise_halves.h"

#include "kernels/depthwise_row_plan.h"

namespace cg::kernels {
#if defined(CG_KERNEL_V4)
namespace planes {
namespace {

// Row o of the results reads the rows 2 o + shift + i of the source with the rows i of the filter, and column c the
// columns 2 c + offset + j.
template <class T>
struct HalvesPlan {
  static constexpr int64_t lanes = Simd<T>::lanes;
  struct Block {
    Mask<T> read[2][2];  // for two vectors from column 2 c + offset on, and from two columns later: what is in the row
    Mask<T> inside[3];   // for each column of the filter, the results for which it reads inside the source
    Mask<T> results;
  };
  int64_t height, width, result_height, result_width, shift, offset;
  int64_t element[3][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}};
  Pick<T> even, odd;
  std::vector<Block> block;

  explicit HalvesPlan(const Depthwise& d)
      : height(d.image[0]),
        width(d.image[1]),
        result_height(d.map[0]),
        result_width(d.map[1]),
        shift(-d.pad[0]),
        offset(-d.pad[1]),
        block((d.map[1] + lanes - 1) / lanes) {
    for (int64_t l = 0; l < lanes; ++l) odd[l] = (even[l] = 2 * l) + 1;
    for (int64_t b = 0; b < blocks(); ++b) {
      const int64_t from = 2 * b * lanes + offset;
      block[b].results = first<T>(result_width - b * lanes);
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < 2; ++k) block[b].read[j][k] = in_row(from + 2 * j + k * lanes);
      for (int64_t j = 0; j < 3; ++j) {
        Mask<T> mask = 0;
        for (int64_t l = 0; l < lanes; ++l)
          if (from + j + 2 * l >= 0 && from + j + 2 * l < width) mask |= 1 << l;
        block[b].inside[j] = mask & block[b].results;
      }
    }
  }
  // The lanes of a vector from the column `from` on that are inside a row.
  Mask<T> in_row(int64_t from) const { return first<T>(width - from) & ~first<T>(-from); }
  int64_t blocks() const { return block.size(); }
};

// What each column of the filter reads in a row, from the column of the first result on.
template <class T>
struct Columns {
  typename Simd<T>::V of[3];
};
template <class T>
CG_V4_INLINE Columns<T> read_row(const HalvesPlan<T>& p, const typename HalvesPlan<T>::Block& b, const T* row) {
  using S = Simd<T>;
  const auto first = S::load(b.read[0][0], row), second = S::load(b.read[0][1], row + S::lanes);
  const auto third = S::load(b.read[1][0], row + 2), fourth = S::load(b.read[1][1], row + 2 + S::lanes);
  return {{S::pick(first, second, p.even), S::pick(first, second, p.odd), S::pick(third, fourth, p.even)}};
}

template <class T>
CG_V4 void halves_sums(const HalvesPlan<T>& p, int64_t count, const T* x, const T* w, const T* start, T* y) {
  using S = Simd<T>;
  using V = typename S::V;
  for (; count > 0; --count, x += p.height * p.width, y += p.result_height * p.result_width, w += 9) {
    V weight[9];
#pragma GCC unroll 9
    for (int k = 0; k < 9; ++k) weight[k] = S::all(w[k]);
    const V from = start ? S::all(*start++) : S::zero();
    for (int64_t k = 0; k < p.blocks(); ++k) {
      const auto& b = p.block[k];
      const auto m0 = b.inside[0], m1 = b.inside[1], m2 = b.inside[2];
      const T* const column = x + 2 * k * S::lanes + p.offset;
      T* const to = y + k * S::lanes;
      V next = from;  // the sum of the next row of results over the first row of the filter
      for (int64_t o = -1; o < p.result_height; ++o) {
        V s = next;
        const int64_t row = 2 * o + p.shift;
        if (o >= 0 && row + 1 >= 0 && row + 1 < p.height) {
          const Columns<T> v = read_row(p, b, column + (row + 1) * p.width);
          V q = S::product(m0, v.of[0], weight[3]);
          q = S::add_product(m1, v.of[1], weight[4], q);
          s = S::add(s, S::add_product(m2, v.of[2], weight[5], q));
        }
        next = from;
        if (row + 2 >= 0 && row + 2 < p.height) {
          const Columns<T> v = read_row(p, b, column + (row + 2) * p.width);
          V q = S::product(m0, v.of[0], weight[6]);
          q = S::add_product(m1, v.of[1], weight[7], q);
          s = S::add(s, S::add_product(m2, v.of[2], weight[8], q));
          q = S::add_product(m0, v.of[0], weight[0], from);
          q = S::add_product(m1, v.of[1], weight[1], q);
          next = S::add_product(m2, v.of[2], weight[2], q);
        }
        if (o >= 0) S::store(b.results, to + o * p.result_width, s);
      }
    }
  }
}

template <class T>
CG_V4 void halves_products(const HalvesPlan<T>& p, const T* x, const T* y, T* sums) {
  using S = Simd<T>;
  using V = typename S::V;
  V s[9];
#pragma GCC unroll 9
  for (int k = 0; k < 9; ++k) s[k] = S::load(sums + k * S::lanes);
  for (int64_t k = 0; k < p.blocks(); ++k) {
    const auto& b = p.block[k];
    const auto m0 = b.inside[0], m1 = b.inside[1], m2 = b.inside[2];
    const T *const column = x + 2 * k * S::lanes + p.offset, *const map = y + k * S::lanes;
    V g = S::zero();  // the row o of the map
    for (int64_t o = -1; o < p.result_height; ++o) {
      const bool more = o + 1 < p.result_height;
      const V next = more ? S::load(b.results, map + (o + 1) * p.result_width) : S::zero();
      const int64_t row = 2 * o + p.shift;
      if (o >= 0 && row + 1 >= 0 && row + 1 < p.height) {
        const Columns<T> v = read_row(p, b, column + (row + 1) * p.width);
        s[3] = S::add_product(m0, v.of[0], g, s[3]);
        s[4] = S::add_product(m1, v.of[1], g, s[4]);
        s[5] = S::add_product(m2, v.of[2], g, s[5]);
      }
      if (row + 2 >= 0 && row + 2 < p.height) {
        const Columns<T> v = read_row(p, b, column + (row + 2) * p.width);
        if (o >= 0) {
          s[6] = S::add_product(m0, v.of[0], g, s[6]);
          s[7] = S::add_product(m1, v.of[1], g, s[7]);
          s[8] = S::add_product(m2, v.of[2], g, s[8]);
        }
        if (more) {
          s[0] = S::add_product(m0, v.of[0], next, s[0]);
          s[1] = S::add_product(m1, v.of[1], next, s[1]);
          s[2] = S::add_product(m2, v.of[2], next, s[2]);
        }
      }
      g = next;
    }
  }
#pragma GCC unroll 9
  for (int k = 0; k < 9; ++k) S::store(sums + k * S::lanes, s[k]);
}

template <class T>
bool in_halves(const Depthwise& d) {
  for (int k = 0; k < 2; ++k)
    if (d.filter[k] != 3 || d.stride[k] != 2 || d.dilate[k] != 1) return false;
  return simd_level() >= 4 && 4 * d.map[1] > Simd<T>::lanes;
}

template <class T>
bool compute_halves(const Depthwise& d, const T* x, const T* w, const T* bias, T* y) {
  const HalvesPlan<T> plan(d);
  return each_plane<3>(d, false, x, w, bias, y,
                       [&](int64_t count, const T* from, const T* filters, const T* start, bool, T* to) {
                         halves_sums(plan, count, from, filters, start, to);
                       });
}
template <class T>
bool compute_halves_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  const HalvesPlan<T> plan(d);
  return each_filter<3>(d, plan, image, map, w, [&](auto... a) { halves_products(plan, a...); });
}

}  // namespace
}  // namespace planes

template <class T>
bool halves_planes(const Depthwise& d, const T* x, const T* w, const T* bias, T* y) {
  return planes::in_halves<T>(d) && planes::compute_halves(d, x, w, bias, y);
}
template <class T>
bool halves_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  return planes::in_halves<T>(d) && planes::compute_halves_filters(d, image, map, w);
}
#else
template <class T>
bool halves_planes(const Depthwise&, const T*, const T*, const T*, T*) {
  return false;
}
template <class T>
bool halves_filters(const Depthwise&, const T*, const T*, T*) {
  return false;
}
#endif
#define CG_HALVES(T)                                                               \
  template bool halves_planes(const Depthwise&, const T*, const T*, const T*, T*); \
  template bool halves_filters(const Depthwise&, const T*, const T*, T*);
CG_HALVES(float)
CG_HALVES(double)
#undef CG_HALVES

}  // namespace cg::kernels
