// What the loops of minimal filtering share: parts of a batch's tiles, memory to work in, and transformations. Arrays
// of transformed numbers have the axes (places of a tile, blocks of 16 channels, tiles, 16 channels).
#pragma once
#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/workspace.h"

namespace cg::kernels::tiles {

using lanes::L;
using lanes::V;

inline int64_t blocks(int64_t channels) { return (channels + L - 1) / L; }
// The distance of two places. Were it a power of two, all places of a tile would compete for the same lines of a cache.
inline int64_t distance(int64_t vectors) { return (vectors + 1) * L; }
CG_INLINE int channels_of(int64_t channels, int64_t block) {
  return static_cast<int>(std::min<int64_t>(L, channels - block * L));
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

}  // namespace cg::kernels::tiles
