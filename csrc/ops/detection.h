// Declarations shared by ops on boxes: overlaps, non-maximum suppression, and bipartite matching.
#pragma once
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "ops/functions.h"

namespace cg::detection {

// Calls f(T()) for a floating dtype.
template <class F>
void by_dtype(const char* op, at::ScalarType dtype, F&& f) {
  if (dtype == at::kFloat) return f(float());
  if (dtype == at::kDouble) return f(double());
  if (dtype == at::kHalf) return f(at::Half());
  TORCH_CHECK_TYPE(false, op, ": not for arrays of ", dtype);
}
// A tensor for a loop: in main memory and contiguous.
inline Tensor host(const Tensor& t, at::ScalarType dtype) { return t.to(at::kCPU, dtype).contiguous(); }
// Whether a loop can read `x` and no tracer is active; otherwise ATen's functions compute.
inline bool by_loop(const Tensor& x) { return x.is_cpu() && kernels::plain(x); }

// The type in which T is computed. Half precision is rounded after each step, as in the originals.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, at::Half>, float, T>;
template <class T>
Wide<T> rounded(Wide<T> v) {
  return static_cast<T>(v);
}

// A box, given by two corners. The area is stored, because the originals compute it in different ways, with different
// rounding. For a box with negative width or height the area does not matter, because nothing overlaps it.
template <class T>
struct Box {
  using N = Wide<T>;
  N x0, y0, x1, y1, area;
  static Box of(N x0, N y0, N x1, N y1, N edge = 0) {
    const N w = rounded<T>(rounded<T>(x1 - x0) + edge), h = rounded<T>(rounded<T>(y1 - y0) + edge);
    return {x0, y0, x1, y1, rounded<T>(w * h)};
  }
  static Box corners(const T* p) { return of(p[0], p[1], p[2], p[3]); }
  // From the first to the last pixel, inclusive.
  static Box pixels(const T* p) { return of(p[0], p[1], p[2], p[3], 1); }
  // p: x and y of the center, width, height. The area is computed from the corners.
  static Box measured(const T* p) {
    const N x = p[0], y = p[1], w = rounded<T>(p[2] / 2), h = rounded<T>(p[3] / 2);
    return of(rounded<T>(x - w), rounded<T>(y - h), rounded<T>(x + w), rounded<T>(y + h));
  }
  // As `measured`, but the area is width times height.
  static Box centered(const T* p) {
    Box b = measured(p);
    b.area = rounded<T>(static_cast<N>(p[2]) * static_cast<N>(p[3]));
    return b;
  }
};

// Intersection over union. `edge`: 1 for boxes of pixels. A box `b` with NaN overlaps nothing.
template <class T>
CG_INLINE Wide<T> overlap(const Box<T>& a, const Box<T>& b, Wide<T> edge = 0) {
  using N = Wide<T>;
  N w = (a.x1 < b.x1 ? a.x1 : b.x1) - (a.x0 > b.x0 ? a.x0 : b.x0) + edge;
  N h = (a.y1 < b.y1 ? a.y1 : b.y1) - (a.y0 > b.y0 ? a.y0 : b.y0) + edge;
  if constexpr (!std::is_same_v<T, N>) {
    if (!(w > 0 && h > 0)) return 0;  // an early return, because rounding to half precision takes long
    const N both = rounded<T>(rounded<T>(w) * rounded<T>(h)), all = rounded<T>(rounded<T>(a.area + b.area) - both);
    return both > 0 ? rounded<T>(both / all) : 0;
  } else {  // no branch, so that loops are vectorized
    w = w > 0 ? w : 0;
    h = h > 0 ? h : 0;
    const N both = w * h, all = a.area + b.area - both;
    return both / (both > 0 ? all : 1);
  }
}
// For boxes stored in columns (Boxes): the overlaps of `one` with each box; whether a box overlaps `one` by more than
// the limit; and the overlaps, written to `best` where they are larger, together with the number of `one` in `which`.
void overlaps(int64_t n, const float* const* columns, const Box<float>& one, float* to);
void overlaps(int64_t n, const double* const* columns, const Box<double>& one, double* to);
bool overlaps(int64_t n, const float* const* columns, const Box<float>& one, float limit, float edge);
bool overlaps(int64_t n, const double* const* columns, const Box<double>& one, double limit, double edge);
void overlaps(int64_t n, const float* const* columns, const Box<float>& one, int32_t number, float* to, float* best,
              int32_t* which);
void overlaps(int64_t n, const double* const* columns, const Box<double>& one, int32_t number, float* to, float* best,
              int32_t* which);

// Boxes stored in columns, for vector code.
template <class T>
class Boxes {
 public:
  using N = Wide<T>;
  int64_t size() const { return columns_[0].size(); }
  void add(const Box<T>& b) {
    const N numbers[] = {b.x0, b.y0, b.x1, b.y1, b.area};
    for (int64_t k = 0; k < 5; ++k) columns_[k].push_back(numbers[k]);
  }
  Box<T> operator[](int64_t i) const {
    return {columns_[0][i], columns_[1][i], columns_[2][i], columns_[3][i], columns_[4][i]};
  }
  // The overlaps of one box with all.
  void overlap_with(const Box<T>& one, N* to) const {
    if constexpr (std::is_same_v<T, N>)
      overlaps(size(), from(0).data(), one, to);
    else
      for (int64_t i = 0; i < size(); ++i) to[i] = overlap(one, (*this)[i]);
  }
  void overlap_with(const Box<T>& one, int32_t number, float* to, float* best, int32_t* which) const {
    if constexpr (std::is_same_v<T, N>) {
      overlaps(size(), from(0).data(), one, number, to, best, which);
    } else {
      for (int64_t i = 0; i < size(); ++i) {
        to[i] = overlap(one, (*this)[i]);
        if (to[i] > best[i]) best[i] = to[i], which[i] = number;
      }
    }
  }
  // Whether a box overlaps `b` by more than `limit`.
  bool cover(const Box<T>& b, N limit, N edge = 0) const {
    if constexpr (std::is_same_v<T, N>) {
      int64_t part = 16;  // starts with few boxes, because the best ones suppress the most
      for (int64_t i = 0; i < size(); i += part, part = std::min<int64_t>(2 * part, 256))
        if (overlaps(std::min(part, size() - i), from(i).data(), b, limit, edge)) return true;
    } else {
      for (int64_t i = 0; i < size(); ++i)
        if (overlap((*this)[i], b, edge) > limit) return true;
    }
    return false;
  }

 private:
  std::array<const N*, 5> from(int64_t i) const {
    std::array<const N*, 5> r;
    for (int64_t k = 0; k < 5; ++k) r[k] = columns_[k].data() + i;
    return r;
  }
  std::vector<N> columns_[5];
};

// Sorts the indices of scores: the largest score first, equal ones in their old order.
template <class T>
void rank(std::vector<int64_t>& numbers, const T* scores, int64_t step = 1) {
  std::stable_sort(numbers.begin(), numbers.end(),
                   [=](int64_t i, int64_t j) { return scores[i * step] > scores[j * step]; });
}
inline std::vector<int64_t> numbers_to(int64_t n) {
  std::vector<int64_t> r(n);
  std::iota(r.begin(), r.end(), 0);
  return r;
}

// Non-maximum suppression: the indices of `boxes`, sorted from best to worst, that are kept, i.e. that do not overlap a
// better kept box too much.
template <class T>
struct Suppression {
  Wide<T> limit = 0;                                   // overlaps above it are too large
  Wide<T> edge = 0;                                    // 1 for boxes of pixels
  int64_t most = std::numeric_limits<int64_t>::max();  // the maximum number of boxes to keep

  // classes: a box suppresses only boxes of its class; empty: all boxes have the same class.
  std::vector<int64_t> operator()(const std::vector<Box<T>>& boxes, const std::vector<float>& classes = {}) const {
    std::unordered_map<float, Boxes<T>> stay;
    Boxes<T>* one = classes.empty() ? &stay[0] : nullptr;
    std::vector<int64_t> kept;
    for (size_t i = 0; i < boxes.size() && static_cast<int64_t>(kept.size()) < most; ++i) {
      Boxes<T>& better = one ? *one : stay[classes[i]];
      if (better.cover(boxes[i], limit, edge)) continue;
      better.add(boxes[i]);
      kept.push_back(i);
    }
    return kept;
  }
};

// Calls take(row, column) for pairs of the scores (rows, columns) that are `wanted`, with each row and column in at
// most one pair. The best pair comes first, and of equal pairs that of the first row, or with `turned` that of the
// first column. Ends when take() returns false.
template <class T, class Wanted, class Take>
void match(const T* scores, int64_t rows, int64_t columns, bool smallest, bool turned, Wanted&& wanted, Take&& take) {
  struct Pair {
    Wide<T> score;
    int64_t number;  // position in the order of equal scores
    bool operator<(const Pair& o) const { return score == o.score ? number > o.number : score < o.score; }
  };
  const auto better = [](const Pair& a, const Pair& b) { return b < a; };
  std::vector<Pair> heap, best;
  for (int64_t i = 0; i < rows; ++i) {
    best.clear();
    auto least = -std::numeric_limits<Wide<T>>::infinity();  // lower scores are not among the best
    for (int64_t j = 0; j < columns; ++j) {
      const Wide<T> v = scores[i * columns + j], score = smallest ? -v : v;
      if (score < least || !wanted(v)) continue;
      const Pair pair{score, turned ? j * rows + i : i * columns + j};
      if (static_cast<int64_t>(best.size()) < rows) {  // the other rows can take at most rows - 1 columns from this row
        best.push_back(pair);
        if (static_cast<int64_t>(best.size()) < rows) continue;
        std::make_heap(best.begin(), best.end(), better);
      } else if (best.front() < pair) {
        std::pop_heap(best.begin(), best.end(), better);
        best.back() = pair;
        std::push_heap(best.begin(), best.end(), better);
      }
      least = best.front().score;
    }
    heap.insert(heap.end(), best.begin(), best.end());
  }
  std::make_heap(heap.begin(), heap.end());
  std::vector<bool> row(rows), column(columns);
  int64_t left = std::min(rows, columns);
  for (auto end = heap.end(); left > 0 && end != heap.begin();) {
    std::pop_heap(heap.begin(), end);
    const int64_t k = (--end)->number, i = turned ? k % rows : k / columns, j = turned ? k / rows : k % columns;
    if (row[i] || column[j]) continue;
    row[i] = column[j] = true;
    --left;
    if (!take(i, j)) return;
  }
}

}  // namespace cg::detection
