// The loops of winograd.cpp, compiled once for each instruction set.
#pragma once
#include "kernels/tile_parts.h"
#include "kernels/winograd.h"

namespace cg::kernels::tiles {

constexpr int kPlaces = 16;

struct Task : Part {
  Winograd s;
  const float *x = nullptr, *w = nullptr, *bias = nullptr, *gy = nullptr;
  float *y = nullptr, *gw = nullptr;
  bool turned = false;
  float *filters = nullptr, *images = nullptr, *maps = nullptr;  // transformed
  int64_t left = 0, right = 0;  // the blocks of output channels in `filters` and `maps`

  int64_t rows() const { return (s.out_height() + 1) / 2; }  // of tiles, of an image
  int64_t columns() const { return (s.out_width() + 1) / 2; }
  int64_t tiles() const { return (last - first) * columns(); }
  Images of_image() const { return {s.batch, s.in, s.height, s.width, rows(), columns(), s.pad[0], s.pad[1]}; }
  Images of_map() const { return {s.batch, s.out, s.out_height(), s.out_width(), rows(), columns()}; }
  int64_t group_channels() const { return (right - left) * L; }
  int64_t filter_distance() const { return distance((right - left) * blocks(s.in) * L); }
  float* filter(int64_t out) const { return filters + (out - left) * blocks(s.in) * L * L; }
  int64_t image_distance() const { return distance(blocks(s.in) * tiles()); }
  float* image(int64_t block) const { return images + block * tiles() * L; }
  int64_t map_distance() const { return distance((right - left) * tiles()); }
  float* map(int64_t block) const { return maps + (block - left) * tiles() * L; }

  // Where a piece's transformed numbers start in those of a block.
  int64_t offset(int64_t piece, int64_t count) const { return (start(piece, count) - first) * columns() * L; }
};

CG_TRANSFORM(OfImage, 4, 4, r[0] = d[0] - d[2]; r[1] = d[1] + d[2]; r[2] = d[2] - d[1]; r[3] = d[1] - d[3];)
CG_TRANSFORM(OfFilter, 3, 4, r[0] = d[0]; r[1] = 0.5f * (d[0] + d[1] + d[2]); r[2] = 0.5f * (d[0] - d[1] + d[2]);
             r[3] = d[2];)
CG_TRANSFORM(ToResult, 4, 2, r[0] = d[0] + d[1] + d[2]; r[1] = d[1] - d[2] - d[3];)
CG_TRANSFORM(OfMap, 2, 4, r[0] = d[0]; r[1] = d[0] + d[1]; r[2] = d[0] - d[1]; r[3] = -d[1];)
CG_TRANSFORM(ToFilter, 4, 3, r[0] = d[0] + 0.5f * (d[1] + d[2]); r[1] = 0.5f * (d[1] - d[2]);
             r[2] = 0.5f * (d[1] + d[2]) + d[3];)
#undef CG_TRANSFORM

// The filters of a block of output channels and of a block of input channels.
CG_INLINE void filters(const Task& t, int64_t item) {
  const Winograd& s = t.s;
  const int64_t block = t.left + item / blocks(s.in), first = item % blocks(s.in) * L;
  const int channels = channels_of(s.out, block), some = channels_of(s.in, first / L);
  const float* const end = t.w + s.in * s.out * 9;
  float lanes_of[L * 9 * L];
  if (t.turned) {
    for (int c = 0; c < some; ++c)
      lanes::gather(t.w + ((first + c) * s.out + block * L) * 9, end, 9, channels, 9, {lanes_of + c * 9 * L, 9, 9});
  } else {
    lanes::gather(t.w + (block * L * s.in + first) * 9, end, s.in * 9, channels, some * 9,
                  {lanes_of, some * 9, some * 9});
  }
  for (int c = 0; c < L; ++c) {
    V g[3][3] = {}, u[4][4];
    if (c < some)
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i)
#pragma GCC unroll 3
        for (int j = 0; j < 3; ++j)
          lanes::load(g[i][j], lanes_of + (c * 9 + (t.turned ? 8 - 3 * i - j : 3 * i + j)) * L);
    both_sides(g, u, OfFilter());
    put(u, t.filter(block) + (first + c) * L, t.filter_distance());
  }
}

// A piece of a block of input channels.
CG_INLINE void image(const Task& t, int64_t item) {
  const int64_t count = t.pieces(t.s.in), block = item / count, piece = item % count;
  transform<4, 4, 2>(t, t.of_image(), t.x, block, piece, count, OfImage(), t.image(block) + t.offset(piece, count),
                     t.image_distance());
}
// A piece of the gradient of a block of output channels.
CG_INLINE void map(const Task& t, int64_t item) {
  const int64_t count = t.pieces(t.group_channels()), block = t.left + item / count, piece = item % count;
  transform<2, 4, 2>(t, t.of_map(), t.gy, block, piece, count, OfMap(), t.map(block) + t.offset(piece, count),
                     t.map_distance());
}
// A piece of a block of output channels.
CG_INLINE void result(const Task& t, int64_t item) {
  const int64_t count = t.pieces(t.group_channels()), block = t.left + item / count, piece = item % count;
  transform_back<4>(t, t.of_map(), t.map(block) + t.offset(piece, count), t.map_distance(), block, piece, count,
                    ToResult(), bias_of(t.bias, t.s.out, block), t.y);
}

// The gradient of the filters of a block of output channels and of a block of input channels.
CG_INLINE void filter_grad(const Task& t, int64_t item) {
  const Winograd& s = t.s;
  const int64_t block = t.left + item / blocks(s.in), first = item % blocks(s.in) * L;
  const int some = channels_of(s.in, first / L);
  float lanes_of[L * 9 * L];
  for (int c = 0; c < some; ++c) {
    V u[4][4], g[3][3];
    get(u, t.filter(block) + (first + c) * L, t.filter_distance());
    both_sides(u, g, ToFilter());
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i)
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) lanes::store(lanes_of + (c * 9 + 3 * i + j) * L, g[i][j]);
  }
  lanes::scatter({lanes_of, some * 9, some * 9}, s.in * 9, channels_of(s.out, block), some * 9,
                 t.gw + (block * L * s.in + first) * 9);
}

// The products of one place: R tiles with N blocks of output channels.
template <int R, int N>
CG_INLINE void multiply_blocks(const Task& t, int place, int64_t block) {
  const int64_t in = blocks(t.s.in), count = t.tiles();
  const float* const x = t.images + place * t.image_distance();
  const float* const w = t.filter(block) + place * t.filter_distance();
  float* const y = t.map(block) + place * t.map_distance();
  for (int64_t i = 0; i < count; i += R) {
    const int64_t k = std::min(i, count - R);  // the last ones may be computed twice
    lanes::product<R, N, L, 1>(x + k * L, in, L, count * L, w, in * L * L, y + k * L, count * L, false);
  }
}
// The products that add to the filters' gradient at one place: R channels of the images with N blocks of the maps.
template <int R, int N>
CG_INLINE void multiply_maps(const Task& t, int place, int64_t block) {
  const int64_t in = blocks(t.s.in), count = t.tiles();
  const float* const x = t.images + place * t.image_distance();
  const float* const gy = t.map(block) + place * t.map_distance();
  float* const to = t.filter(block) + place * t.filter_distance();
  for (int64_t b = 0; b < in; ++b)
    for (int c = 0; c < L; c += R)
      lanes::product<R, N, 1, L>(x + b * count * L + c, 1, count, 0, gy, count * L, to + (b * L + c) * L, in * L * L,
                                 t.first > 0);
}

template <int R, int N>
CG_INLINE void multiply(const Task& t, int64_t item) {
  at_place<N>(t.left, t.right, item, [&]<int M>(int place, int64_t block) __attribute__((always_inline)) {
    multiply_blocks<R, M>(t, place, block);
  });
}
template <int R, int N>
CG_INLINE void multiply_gradient(const Task& t, int64_t item) {
  at_place<N>(t.left, t.right, item, [&]<int M>(int place, int64_t block) __attribute__((always_inline)) {
    multiply_maps<R, M>(t, place, block);
  });
}

}  // namespace cg::kernels::tiles
