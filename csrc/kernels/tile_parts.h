// What the loops of minimal filtering share (those of taps.cpp, too, where there are no tiles): parts of a batch,
// memory to work in, and transformations. Arrays of transformed numbers have the axes (places of a tile, blocks of 16
// channels, tiles, 16 channels).
#pragma once
#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/workspace.h"

namespace cg::kernels::tiles {

using lanes::L;
using lanes::V;

inline int64_t blocks(int64_t channels) { return lanes::vectors(channels); }
inline int64_t rounded(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
// The distance of two places. Were it a power of two, all places of a tile would compete for the same lines of a cache.
inline int64_t distance(int64_t vectors) { return (vectors + 1) * L; }
CG_INLINE int channels_of(int64_t channels, int64_t block) {
  return static_cast<int>(std::min<int64_t>(L, channels - block * L));
}

// A block's numbers of a bias, which may be null.
CG_INLINE V bias_of(const float* bias, int64_t channels, int64_t block) {
  float some[L] = {};
  if (bias) std::memcpy(some, bias + block * L, channels_of(channels, block) * sizeof(float));
  V r;
  lanes::load(r, some);
  return r;
}

// Divides 0 to `all` - 1 into parts of at most `step` numbers, and calls f() for each after setting `first` and `last`:
// the part is `first` to `last` - 1.
template <class F>
void each_range(int64_t all, int64_t step, int64_t& first, int64_t& last, F&& f) {
  for (first = 0; first < all; first = last) {
    last = std::min(all, first + step);
    f();
  }
}
// Each of the loops computes `unit` items at a time. Returns the loops that compute the fewest items beyond the `n`
// that are wanted.
template <class Loops, size_t count>
const Loops& fitting(const Loops (&all)[count], int64_t n) {
  const Loops* best = all;
  for (const Loops& some : all)
    if (rounded(n, some.unit) < rounded(n, best->unit)) best = &some;
  return *best;
}
// Calls f for a place of a tile and two neighbouring blocks of the group `left` to `right` - 1: f<2>(place, block), or
// f<1> for each block if N is 1 or the group ends after the first. Item i is the pair i % pairs at place i / pairs.
template <int N, class F>
CG_INLINE void at_place(int64_t left, int64_t right, int64_t item, F&& f) {
  const int64_t pairs = (right - left + 1) / 2, block = left + item % pairs * 2;
  const int place = static_cast<int>(item / pairs);
  if (N == 2 && block + 1 < right) return f.template operator()<N>(place, block);
  f.template operator()<1>(place, block);
  if (block + 1 < right) f.template operator()<1>(place, block + 1);
}

// The rows of tiles, of all images, of a part of the batch.
struct Part {
  int64_t first = 0, last = 0;

  // The rows are divided into pieces for threads where there are few blocks. `f` is called with an image and the first
  // and last row of its `rows` that belong to the piece.
  int64_t pieces(int64_t channels) const {
    constexpr int64_t kWanted = 8;
    return std::clamp<int64_t>(kWanted / blocks(channels), 1, last - first);
  }
  int64_t start(int64_t piece, int64_t count) const { return first + (last - first) * piece / count; }
  template <class F>
  CG_INLINE void each_image(int64_t piece, int64_t count, int64_t rows, F&& f) const {
    const int64_t end = start(piece + 1, count);
    for (int64_t r = start(piece, count); r < end;) {
      const int64_t n = r / rows, from = r % rows, to = std::min(rows, from + end - r);
      f(n, from, to);
      r += to - from;
    }
  }
  // How many rows of tiles of one image a piece has at most.
  int64_t most_rows(int64_t count, int64_t rows) const { return std::min(rows, (last - first + count - 1) / count); }
};

using Buffer = Workspace<float>;
inline Buffer buffer(int64_t vectors) { return Buffer(vectors * L); }

// r = T d T^t for the matrix T of one of the transforms, given as a function of a column.
template <int rows, int inner, class F>
CG_INLINE void both_sides(const V (&d)[inner][inner], V (&r)[rows][rows], F&& f) {
  V half[rows][inner];
#pragma GCC unroll 6
  for (int j = 0; j < inner; ++j) {
    V from[inner], to[rows];
#pragma GCC unroll 6
    for (int i = 0; i < inner; ++i) from[i] = d[i][j];
    f(from, to);
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) half[i][j] = to[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < rows; ++i) f(half[i], r[i]);
}
#define CG_TRANSFORM(name, inner, outer, ...)                                           \
  struct name {                                                                         \
    CG_INLINE void operator()(const V (&d)[inner], V (&r)[outer]) const { __VA_ARGS__ } \
  };

template <int N>
CG_INLINE void put(const V (&r)[N][N], float* to, int64_t distance) {
#pragma GCC unroll 6
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 6
    for (int j = 0; j < N; ++j) lanes::store(to + (N * i + j) * distance, r[i][j]);
}
template <int N>
CG_INLINE void get(V (&r)[N][N], const float* from, int64_t distance) {
#pragma GCC unroll 6
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 6
    for (int j = 0; j < N; ++j) lanes::load(r[i][j], from + (N * i + j) * distance);
}

// Transforms the tiles of a strip, N x N numbers each, `step` numbers apart, into M x M, and moves `to` behind them.
// `width`: vectors of a row.
template <int N, int M, int step, class F>
CG_INLINE void put_tiles(const float* strip, int64_t width, int64_t rows, int64_t columns, F f, float*& to,
                         int64_t distance) {
  for (int64_t a = 0; a < rows; ++a)
    for (int64_t b = 0; b < columns; ++b, to += L) {
      V d[N][N], r[M][M];
#pragma GCC unroll 6
      for (int i = 0; i < N; ++i)
#pragma GCC unroll 6
        for (int j = 0; j < N; ++j) lanes::load(d[i][j], strip + ((step * a + i) * width + step * b + j) * L);
      both_sides(d, r, f);
      put(r, to, distance);
    }
}

// An array (batch, channels, height, width) in C order, with zeros around it, and its tiles.
struct Images {
  int64_t batch, channels, height, width;
  int64_t rows, columns;      // of tiles, of an image
  int64_t top = 0, left = 0;  // zeros of the first tiles

  int64_t pixels() const { return height * width; }
};
// Transforms the tiles of piece `piece` of `pieces` of a block of channels, N x N numbers each, `step` numbers apart,
// into M x M.
template <int N, int M, int step, class F>
CG_INLINE void transform(const Part& t, const Images& s, const float* x, int64_t block, int64_t piece, int64_t pieces,
                         F f, float* to, int64_t distance) {
  const int64_t width = std::max(step * s.columns + N - step, s.left + s.width);
  const Buffer strip = buffer((step * t.most_rows(pieces, s.rows) + N - step) * width);
  t.each_image(piece, pieces, s.rows, [&](int64_t n, int64_t from, int64_t end) __attribute__((always_inline)) {
    const int64_t top = step * from - s.top, lines = step * (end - from) + N - step;
    const int64_t low = std::max<int64_t>(0, top), high = std::max(low, std::min(s.height, top + lines));
    std::memset(strip.get(), 0, (low - top) * width * sizeof(V));
    std::memset(strip.get() + (high - top) * width * L, 0, (top + lines - high) * width * sizeof(V));
    lanes::gather(x + (n * s.channels + block * L) * s.pixels() + low * s.width, x + s.batch * s.channels * s.pixels(),
                  s.pixels(), channels_of(s.channels, block), (high - low) * s.width,
                  {strip.get() + ((low - top) * width + s.left) * L, s.width, width});
    put_tiles<N, M, step>(strip.get(), width, end - from, s.columns, f, to, distance);
  });
}
// The reverse for results: N x N transformed numbers become 2 x 2 numbers, to which the bias is added.
template <int N, class F>
CG_INLINE void transform_back(const Part& t, const Images& s, const float* from, int64_t distance, int64_t block,
                              int64_t piece, int64_t pieces, F f, const V& bias, float* y) {
  const int64_t width = 2 * s.columns;
  const Buffer strip = buffer(2 * t.most_rows(pieces, s.rows) * width);
  t.each_image(piece, pieces, s.rows, [&](int64_t n, int64_t begin, int64_t end) __attribute__((always_inline)) {
    for (int64_t a = 0; a < end - begin; ++a)
      for (int64_t b = 0; b < s.columns; ++b, from += L) {
        V m[N][N], r[2][2];
        get(m, from, distance);
        both_sides(m, r, f);
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i)
#pragma GCC unroll 2
          for (int j = 0; j < 2; ++j) lanes::store(strip.get() + ((2 * a + i) * width + 2 * b + j) * L, r[i][j] + bias);
      }
    const int64_t high = std::min(s.height, 2 * end);
    lanes::scatter({strip.get(), s.width, width}, s.pixels(), channels_of(s.channels, block),
                   (high - 2 * begin) * s.width, y + (n * s.channels + block * L) * s.pixels() + 2 * begin * s.width);
  });
}

}  // namespace cg::kernels::tiles
