// How depthwise convolutions are computed from planes in another layout.
//
// A plane is copied into a workspace with the padding around it. If the filter moves by s elements, each axis is split
// into s phases: element b of phase p is the element s b + p of the padded axis. There every element of the filter
// reads the workspace at a constant distance from the position of the result, so that a whole plane of results is a sum
// of shifted vectors. The gradient of the image is such a sum for each phase of its axes, over those elements of the
// filter that reach the phase.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/depthwise.h"
#include "kernels/lanes.h"

namespace cg::kernels::planes {

using lanes::L;  // numbers at a time

// An element of the filter along an axis: where it reads for result 0, as a phase and an element of the phase.
struct Term {
  int64_t element, phase, shift;
};
struct Axis {
  int64_t source, result;                // lengths of the planes
  int64_t step, pad;                     // element b of phase p is the source's element step * b + p - pad
  int64_t merge;                         // result a of phase q is the result's element merge * a + q
  int64_t reach = 0;                     // the largest shift
  std::vector<std::vector<Term>> terms;  // of each phase of the result

  int64_t count(int64_t q) const { return q < result ? (result - q + merge - 1) / merge : 0; }
  int64_t at(int64_t b, int64_t phase) const { return step * b + phase - pad; }
};

// The quotient and the remainder for a positive divisor, the remainder not negative.
inline int64_t floor_mod(int64_t a, int64_t s) { return (a % s + s) % s; }
inline int64_t floor_div(int64_t a, int64_t s) { return (a - floor_mod(a, s)) / s; }

// From the image to the map. `padded`: the source includes the zeros that results read around it; then no shift is
// negative.
inline Axis forwards(const Depthwise& d, int k, bool padded) {
  const int64_t s = d.stride[k], pad = padded ? d.pad[k] : 0;
  Axis a{d.image[k], d.map[k], s, pad, 1, 0, {}};
  a.terms.resize(1);
  for (int64_t i = 0; i < d.filter[k]; ++i) {
    const int64_t from = i * d.dilate[k] - d.pad[k] + pad;
    a.terms[0].push_back({i, floor_mod(from, s), floor_div(from, s)});
    a.reach = std::max(a.reach, floor_div(from, s));
  }
  return a;
}
// From the map to the image: element s a + q of the image gets element a + e of the map where s e = q + pad - dilate i.
inline Axis backwards(const Depthwise& d, int k, bool padded) {
  const int64_t s = d.stride[k];
  Axis a{d.map[k], d.image[k], 1, 0, s, 0, {}};
  a.terms.resize(s);
  bool any = false;
  int64_t low = 0, high = 0;
  for (int64_t q = 0; q < std::min(s, a.result); ++q)
    for (int64_t i = 0; i < d.filter[k]; ++i) {
      const int64_t from = q + d.pad[k] - i * d.dilate[k];
      if (from % s) continue;
      a.terms[q].push_back({i, 0, from / s});
      low = any ? std::min(low, from / s) : from / s;
      high = any ? std::max(high, from / s) : from / s;
      any = true;
    }
  if (!padded) return a;
  for (auto& terms : a.terms)
    for (Term& t : terms) t.shift -= low;
  a.pad = -low;
  a.reach = high - low;
  return a;
}

// An element of the filter and its distance in the workspace.
struct Tap {
  int64_t element, offset;
};
struct Taps {
  std::vector<Tap> list;  // by distance
  bool square = false;    // whether they are 3 x 3, in rows that are one row of the workspace apart
};

// The workspace contains, for each pair of phases, `planes` planes of `rows` rows of `pitch` numbers. Results are
// computed in bands of at most `band` rows of a phase, so that the workspace stays in the cache.
struct Plan {
  Axis y, x;
  int64_t width;  // of a filter
  int64_t planes = 1, pitch, band, rows, plane;
  std::vector<Taps> taps;  // of each pair of phases of the result

  // Without padding: whole planes at a distance of `distance` numbers between rows.
  Plan(Axis along_y, Axis along_x, int64_t filter_width, int64_t distance)
      : y(std::move(along_y)), x(std::move(along_x)), width(filter_width), pitch(distance), band(y.count(0)) {
    y.reach = x.reach = 0;
    rows = (y.source + y.step - 1) / y.step;
    stack(1);
  }
  // Several planes one after the other.
  void stack(int64_t count) {
    plane = count * rows * pitch + L;
    place();
  }
  // `numbers`: of a workspace. `most`: planes at a time, if so many fit into it.
  Plan(Axis along_y, Axis along_x, int64_t filter_width, int64_t numbers, int64_t most)
      : y(std::move(along_y)), x(std::move(along_x)), width(filter_width) {
    pitch = x.count(0) + x.reach;
    const int64_t line = pitch * y.step * x.step, all = y.count(0);
    band = std::clamp<int64_t>(numbers / line - y.reach, std::min<int64_t>(all, 4), all);
    rows = band + y.reach;
    plane = rows * pitch;
    if (band == all) planes = std::clamp<int64_t>(numbers / (line * rows), 1, most);
    place();
  }
  void place() {
    taps.assign(y.merge * x.merge, {});
    for (int64_t i = 0; i < y.merge; ++i)
      for (int64_t j = 0; j < x.merge; ++j)
        for (const Term& u : y.terms[i])
          for (const Term& v : x.terms[j])
            taps[i * x.merge + j].list.push_back(
                {u.element * width + v.element, phase(u.phase, v.phase) + u.shift * pitch + v.shift});
    for (Taps& t : taps) {
      std::sort(t.list.begin(), t.list.end(), [](const Tap& a, const Tap& b) { return a.offset < b.offset; });
      t.square = t.list.size() == 9;
      for (size_t k = 3; t.square && k < 9; ++k) t.square &= t.list[k].offset == t.list[k - 3].offset + pitch;
    }
  }
  int64_t phase(int64_t along_y, int64_t along_x) const { return (along_y * x.step + along_x) * planes * plane; }
  int64_t numbers() const { return y.step * x.step * planes * plane + 2 * L; }
};

}  // namespace cg::kernels::planes
