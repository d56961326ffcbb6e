// How depthwise convolutions are computed by vectors with masks.
//
// A plane of results, or several small ones, is a sequence of vectors. Each element of the filter reads the source at a
// constant distance from them, and a mask says in which lanes it reads inside the source.
#pragma once
#include <array>

#include "kernels/depthwise_plan.h"

namespace cg::kernels::planes {

template <class T>
using Mask = std::conditional_t<sizeof(T) == 4, uint16_t, uint8_t>;  // one bit for each lane of 64 bytes

// Which numbers of two vectors form a third: number i is number k[i] of both.
template <class T>
using Pick = std::array<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>, 64 / sizeof(T)>;

// The elements of the filter that reach a phase of results, and for each vector of results the lanes in which each of
// them reads inside the source.
template <class T>
struct Reads {
  std::vector<int64_t> elements, offsets;
  std::vector<Mask<T>> masks;
  std::vector<Pick<T>> picks;  // where each of them reads in a single vector; none for more vectors
};
// How the four phases of planes with two phases along each axis are split and joined. Each two vectors of planes whose
// rows are a power of two, no longer than a vector, contain the same number of elements of all phases.
template <class T>
struct Picks {
  static constexpr int64_t lanes = 64 / sizeof(T);
  Pick<T> even, odd;                                  // columns
  Pick<T> split[4], joined, joined_after, low, high;  // phases; columns of halves of two phases; their rows

  explicit Picks(int64_t width) {
    for (int64_t l = 0; l < lanes; ++l) {
      even[l] = 2 * l;
      odd[l] = 2 * l + 1;
      joined[l] = l / 2 + l % 2 * lanes;
      joined_after[l] = joined[l] + lanes / 2;
      const auto place = [&](int64_t k) { return k / width / 2 * width + k % width + k / width % 2 * lanes; };
      low[l] = place(l);
      high[l] = place(l + lanes);
      const int64_t half = width / 2, k = l % (lanes / 2);
      for (int64_t q = 0; half && q < 4; ++q) split[q][l] = (2 * (k / half) + q / 2) * width + 2 * (k % half) + q % 2;
    }
  }
};

// How a convolution is computed. Planes of less than a vector are computed `group` at a time.
template <class T>
struct Masked {
  static constexpr int64_t lanes = 64 / sizeof(T);
  static constexpr int64_t kLargest = 1 << 14;  // numbers of a plane, so that masks and workspace stay in the cache
  Plan p;
  int64_t size, group = 1;
  bool copied, merged;
  bool even = false;  // whether all planes and phases are rows of a power of two, none longer than a vector
  Picks<T> picks;
  std::vector<Reads<T>> reads, rest;  // of each phase of results; of the last group, if it is smaller

  Masked(Axis y, Axis x, int64_t width, int64_t channels, bool alike)
      : p(std::move(y), std::move(x), width, distance(y, x)),
        size(p.y.count(0) * p.pitch),
        picks(std::max(p.x.source, p.x.result)) {
    copied = p.y.step * p.x.step > 1;
    merged = p.y.merge * p.x.merge > 1;
    const bool halves = (p.y.step == 2 && p.x.step == 2) || (p.y.merge == 2 && p.x.merge == 2);
    const int64_t rows = std::max(p.y.source, p.y.result), columns = std::max(p.x.source, p.x.result);
    even = halves && 2 * std::min(p.y.source, p.y.result) == rows && columns <= lanes &&
           (columns & (columns - 1)) == 0 && 2 * std::min(p.x.source, p.x.result) == columns;
    if (alike && (even || (!copied && !merged && p.y.source == p.y.result)))
      group = std::clamp<int64_t>(lanes / size, 1, std::max<int64_t>(channels, 1));
    p.stack(group);
    reads = all_reads(group);
    if (channels % group) rest = all_reads(channels % group);
  }
  // Between rows of results, and of sources.
  static int64_t distance(const Axis& y, const Axis& x) { return y.step * x.step > 1 ? x.count(0) : x.source; }
  static bool fits(const Axis& y, const Axis& x) {
    const int64_t d = distance(y, x), rows = y.count(0);
    if (d < 1 || rows < 1 || d * std::max(rows, (y.source + y.step - 1) / y.step) > kLargest) return false;
    if (x.source < 1 || y.source < 1 || (x.source + x.step - 1) / x.step > d) return false;
    return x.merge == 1 ? x.result == d : x.count(0) <= d;
  }
  int64_t vectors(int64_t planes) const { return (planes * size + lanes - 1) / lanes; }
  Mask<T> last(int64_t planes) const {
    return static_cast<Mask<T>>((1u << (planes * size - (vectors(planes) - 1) * lanes)) - 1);
  }
  std::vector<Reads<T>> all_reads(int64_t planes) const {
    std::vector<Reads<T>> r(p.taps.size());
    for (int64_t i = 0; i < p.y.merge; ++i)
      for (int64_t j = 0; j < p.x.merge; ++j) {
        Reads<T>& to = r[i * p.x.merge + j];
        const auto &rows = p.y.terms[i], &columns = p.x.terms[j];
        const auto reaches = [&](const Term& u, const Term& v) {
          return !inside(p.y, u, i).empty() && !inside(p.x, v, j).empty();
        };
        for (const Term& u : rows)
          for (const Term& v : columns)
            if (reaches(u, v)) {
              to.elements.push_back(u.element * p.width + v.element);
              to.offsets.push_back(p.phase(u.phase, v.phase) + u.shift * p.pitch + v.shift);
            }
        const int64_t taps = to.offsets.size();
        if (vectors(planes) == 1 && !copied && !merged && p.y.source == p.y.result) {
          to.picks.resize(taps);
          for (int64_t k = 0; k < taps; ++k)
            for (int64_t l = 0; l < lanes; ++l) to.picks[k][l] = floor_mod(l + to.offsets[k], lanes);
        }
        to.masks.assign(vectors(planes) * taps, 0);
        Mask<T>* masks = to.masks.data();
        for (const Term& u : rows)
          for (const Term& v : columns) {
            if (!reaches(u, v)) continue;
            const Range a = inside(p.y, u, i), b = inside(p.x, v, j);
            for (int64_t k = 0; k < planes; ++k)
              for (int64_t row = a.from; row < a.to; ++row)
                set(masks, taps, k * size + row * p.pitch + b.from, k * size + row * p.pitch + b.to);
            ++masks;
          }
      }
    return r;
  }

 private:
  struct Range {
    int64_t from, to;
    bool empty() const { return from >= to; }
  };
  // The results of phase q for which a term reads inside the source.
  static Range inside(const Axis& a, const Term& t, int64_t q) {
    const int64_t length = (a.source - t.phase + a.step - 1) / a.step;
    return {std::max<int64_t>(0, -t.shift), std::min(a.count(q), length - t.shift)};
  }
  static void set(Mask<T>* masks, int64_t taps, int64_t from, int64_t to) {
    while (from < to) {
      const int64_t v = from / lanes, end = std::min(to, (v + 1) * lanes);
      masks[v * taps] |= ((1u << (end - v * lanes)) - 1) & ~((1u << (from - v * lanes)) - 1);
      from = end;
    }
  }
};

}  // namespace cg::kernels::planes
