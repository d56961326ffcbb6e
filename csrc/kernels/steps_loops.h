// The loops of steps.cpp, for processors with AVX-512. A tile is 2 x 2 numbers of the map, and the 6 x 6
// numbers of the padded image below them; neighbouring tiles share two rows or columns of the image.
#pragma once
#include "kernels/steps.h"
#include "kernels/tile_parts.h"

namespace cg::kernels::steps {

using tiles::blocks;
using tiles::both_sides;
using tiles::channels_of;
using tiles::L;
using tiles::V;

constexpr int kImage = 36, kMap = 9;  // numbers of a tile of the image, or of a filter, and of the map, transformed

// Places of the transformed image and filter are (phase of the row, of three, phase of the column, of three).
CG_TRANSFORM(OfImage, 6, 6, r[0] = d[0] - d[2]; r[1] = d[2]; r[2] = d[4] - d[2]; r[3] = d[1] - d[3]; r[4] = d[3];
             r[5] = d[5] - d[3];)
CG_TRANSFORM(OfFilter, 4, 6, r[0] = d[0]; r[1] = d[0] + d[2]; r[2] = d[2]; r[3] = d[1]; r[4] = d[1] + d[3];
             r[5] = d[3];)
CG_TRANSFORM(OfMap, 2, 3, r[0] = d[0]; r[1] = d[0] + d[1]; r[2] = d[1];)
CG_TRANSFORM(ToImage, 6, 6, r[0] = d[0]; r[1] = d[3]; r[2] = d[1] - (d[0] + d[2]); r[3] = d[4] - (d[3] + d[5]);
             r[4] = d[2]; r[5] = d[5];)
CG_TRANSFORM(ToFilter, 6, 4, r[0] = d[0] + d[1]; r[1] = d[3] + d[4]; r[2] = d[1] + d[2]; r[3] = d[4] + d[5];)
CG_TRANSFORM(ToMap, 3, 2, r[0] = d[0] + d[1]; r[1] = d[1] + d[2];)

struct Task : tiles::Part {
  Steps s;
  int64_t in = 0, out = 0;            // channels that are summed, and channels of the result
  int64_t next_in = 0, next_out = 0;  // the distances of their filters in w
  const float *image = nullptr, *map = nullptr, *w = nullptr, *bias = nullptr;
  float* y = nullptr;
  float *filters = nullptr, *images = nullptr, *maps = nullptr;  // transformed
  float* carry = nullptr;       // for each block of the image, the last two rows of tiles that go on in the next part
  int64_t top = 0, bottom = 0;  // the blocks of `in` whose filters are transformed
  int64_t left = 0, right = 0;  // the blocks of `out` likewise
  int64_t images_from = 0, image_blocks = 0, map_blocks = 0;  // the blocks in `images` and `maps`
  int64_t count = 0;  // the part's tiles, and some that are computed besides so that loops have no rest

  int64_t rows() const { return (s.map[0] + 1) / 2; }  // of tiles, of an image
  int64_t columns() const { return (s.map[1] + 1) / 2; }
  int64_t tiles() const { return (last - first) * columns(); }
  tiles::Images of_image() const {
    return {s.batch, s.image_channels, s.image[0], s.image[1], rows(), columns(), s.pad[0], s.pad[1]};
  }
  tiles::Images of_map() const { return {s.batch, s.map_channels, s.map[0], s.map[1], rows(), columns()}; }
  int64_t strip_width() const { return std::max(4 * columns() + 2, s.pad[1] + s.image[1]); }
  int64_t depth() const { return (bottom - top) * L; }
  int64_t filter_distance() const { return tiles::distance((right - left) * depth()); }
  float* filter(int64_t block) const { return filters + (block - left) * depth() * L; }
  int64_t image_distance() const { return tiles::distance(image_blocks * count); }
  float* images_of(int64_t block) const { return images + (block - images_from) * count * L; }
  int64_t map_distance() const { return tiles::distance(map_blocks * count); }
  float* maps_of(int64_t block) const { return maps + block * count * L; }
  int64_t offset(int64_t piece, int64_t pieces) const { return (start(piece, pieces) - first) * columns() * L; }
};

// The filters of item / blocks of `in`, a block of `out`, and of item % blocks of `in`.
CG_INLINE void filters(const Task& t, int64_t item) {
  const int64_t some = t.bottom - t.top, block = t.left + item / some, from = t.top + item % some;
  const int channels = channels_of(t.out, block), given = channels_of(t.in, from);
  float* to = t.filter(block) + (from - t.top) * L * L;
  const float* w = t.w + block * L * t.next_out + from * L * t.next_in;
  for (int k = 0; k < L; ++k, to += L, w += t.next_in) {
    V v[L] = {}, g[4][4], u[6][6];
    if (k < given) {
      if (channels == L) {
#pragma GCC unroll 16
        for (int c = 0; c < L; ++c) lanes::load(v[c], w + c * t.next_out);
      } else {
        for (int c = 0; c < channels; ++c) lanes::load(v[c], w + c * t.next_out);
      }
    }
    lanes::transpose(v);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) g[i][j] = v[4 * i + j];
    both_sides(g, u, OfFilter());
    tiles::put(u, to, t.filter_distance());
  }
}
// The reverse, for their gradients.
CG_INLINE void filter_grads(const Task& t, int64_t item) {
  const int64_t some = t.bottom - t.top, block = t.left + item / some, from = t.top + item % some;
  const int channels = channels_of(t.out, block), given = channels_of(t.in, from);
  const float* at = t.filter(block) + (from - t.top) * L * L;
  float* w = t.y + block * L * t.next_out + from * L * t.next_in;
  for (int k = 0; k < given; ++k, at += L, w += t.next_in) {
    V v[L], g[4][4], u[6][6];
    tiles::get(u, at, t.filter_distance());
    both_sides(u, g, ToFilter());
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) v[4 * i + j] = g[i][j];
    lanes::transpose(v);
    const auto put = [&](int c) __attribute__((always_inline)) {
      float* const to = w + c * t.next_out;
      if (t.first > 0) {
        V old;
        lanes::load(old, to);
        v[c] += old;
      }
      lanes::store(to, v[c]);
    };
    if (channels == L) {
#pragma GCC unroll 16
      for (int c = 0; c < L; ++c) put(c);
    } else {
      for (int c = 0; c < channels; ++c) put(c);
    }
  }
}

// Numbers that no tile has are multiplied, too; denormal ones would take long.
CG_INLINE void clear_rest(const Task& t, int places, float* to, int64_t distance) {
  for (int i = 0; i < places; ++i) std::memset(to + i * distance + t.tiles() * L, 0, (t.count - t.tiles()) * sizeof(V));
}
// A piece of a block of channels of the image, with the zeros around it.
CG_INLINE void image(const Task& t, int64_t item) {
  const int64_t pieces = t.pieces(t.s.image_channels), block = item / pieces, piece = item % pieces;
  float* const to = t.images_of(block) + t.offset(piece, pieces);
  if (piece == 0) clear_rest(t, kImage, to, t.image_distance());
  tiles::transform<6, 6, 4>(t, t.of_image(), t.image, block, piece, pieces, OfImage(), to, t.image_distance());
}
// A piece of a block of channels of the map.
CG_INLINE void map(const Task& t, int64_t item) {
  const int64_t pieces = t.pieces(t.s.map_channels), block = item / pieces, piece = item % pieces;
  float* const to = t.maps_of(block) + t.offset(piece, pieces);
  if (piece == 0) clear_rest(t, kMap, to, t.map_distance());
  tiles::transform<2, 3, 2>(t, t.of_map(), t.map, block, piece, pieces, OfMap(), to, t.map_distance());
}
// A piece of a block of channels of the map.
CG_INLINE void map_result(const Task& t, int64_t item) {
  const int64_t pieces = t.pieces(t.out), block = item / pieces, piece = item % pieces;
  tiles::transform_back<3>(t, t.of_map(), t.maps_of(block) + t.offset(piece, pieces), t.map_distance(), block, piece,
                           pieces, ToMap(), tiles::bias_of(t.bias, t.out, block), t.y);
}
// A block of channels of the image. Neighbouring tiles add to the same numbers.
CG_INLINE void image_result(const Task& t, int64_t item) {
  const int64_t block = t.left + item, width = t.strip_width(), height = t.s.image[0], pixels = height * t.s.image[1];
  const int64_t most = std::max(4 * t.most_rows(1, t.rows()) + 2, t.s.pad[0] + height), pad = t.s.pad[0];
  const tiles::Buffer strip = tiles::buffer(most * width);
  float* const carry = t.carry + block * 2 * width * L;
  const V bias = tiles::bias_of(t.bias, t.out, block);
  const float* at = t.images_of(block);
  t.each_image(0, 1, t.rows(), [&](int64_t n, int64_t from, int64_t end) __attribute__((always_inline)) {
    const int64_t tiles_end = 4 * (end - from) + 2;
    const int64_t lines = end < t.rows() ? tiles_end : std::max(tiles_end, pad + height - 4 * from);
    for (int64_t k = 0; k < lines * width; ++k) lanes::store(strip.get() + k * L, bias);
    if (from > 0) std::memcpy(strip.get(), carry, 2 * width * sizeof(V));
    for (int64_t a = 0; a < end - from; ++a)
      for (int64_t b = 0; b < t.columns(); ++b, at += L) {
        V m[6][6], r[6][6];
        tiles::get(m, at, t.image_distance());
        both_sides(m, r, ToImage());
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i)
#pragma GCC unroll 6
          for (int j = 0; j < 6; ++j) {
            float* const to = strip.get() + ((4 * a + i) * width + 4 * b + j) * L;
            V old;
            lanes::load(old, to);
            lanes::store(to, old + r[i][j]);
          }
      }
    if (end < t.rows()) std::memcpy(carry, strip.get() + (lines - 2) * width * L, 2 * width * sizeof(V));
    const int64_t top = 4 * from - pad, low = std::max<int64_t>(0, top);
    const int64_t high = end < t.rows() ? std::min(height, 4 * end - pad) : height;
    if (high > low)
      lanes::scatter({strip.get() + ((low - top) * width + t.s.pad[1]) * L, t.s.image[1], width}, pixels,
                     channels_of(t.out, block), (high - low) * t.s.image[1],
                     t.y + (n * t.out + block * L) * pixels + low * t.s.image[1]);
  });
}

// The place of the transformed map that is multiplied with a place of the filter.
CG_INLINE int of_map(int place) { return place / 6 % 3 * 3 + place % 3; }

// The numbers of the image's transformed tiles at one place: R tiles with one or two blocks.
template <int R, int N>
CG_INLINE void multiply_image(const Task& t, int64_t item) {
  tiles::at_place<N>(t.left, t.right, item, [&]<int M>(int place, int64_t block) __attribute__((always_inline)) {
    const float* const x = t.maps_of(t.top) + of_map(place) * t.map_distance();
    const float* const w = t.filter(block) + place * t.filter_distance();
    float* const y = t.images_of(block) + place * t.image_distance();
    for (int64_t k = 0; k < t.count; k += R)
      lanes::product<R, M, L, 1>(x + k * L, t.bottom - t.top, L, t.count * L, w, t.depth() * L, y + k * L, t.count * L,
                                 t.top > 0);
  });
}
// The numbers of the map's transformed tiles at one place, from all phases.
template <int R, int N>
CG_INLINE void multiply_map(const Task& t, int64_t item) {
  tiles::at_place<N>(t.left, t.right, item, [&]<int M>(int place, int64_t block) __attribute__((always_inline)) {
    float* const y = t.maps_of(block) + place * t.map_distance();
    for (int64_t k = 0; k < t.count; k += R) {
      V sum[R][M];
      lanes::clear(sum);
      for (int phase = 0; phase < 4; ++phase) {
        const int from = (phase / 2 * 3 + place / 3) * 6 + phase % 2 * 3 + place % 3;
        lanes::add_product<R, M, L, 1>(sum, t.images_of(t.top) + from * t.image_distance() + k * L, t.bottom - t.top, L,
                                       t.count * L, t.filter(block) + from * t.filter_distance(), t.depth() * L);
      }
      lanes::write(sum, y + k * L, t.count * L, t.top > 0);
    }
  });
}
// The gradient of the filters at one place: R channels of the image with one or two blocks of the map.
template <int R, int N>
CG_INLINE void multiply_filters(const Task& t, int64_t item) {
  tiles::at_place<N>(t.left, t.right, item, [&]<int M>(int place, int64_t block) __attribute__((always_inline)) {
    const float* const gy = t.maps_of(block) + of_map(place) * t.map_distance();
    for (int64_t b = t.top; b < t.bottom; ++b)
      for (int c = 0; c < L; c += R)
        lanes::product<R, M, 1, L>(t.images_of(b) + place * t.image_distance() + c, 1, t.tiles(), 0, gy, t.count * L,
                                   t.filter(block) + place * t.filter_distance() + ((b - t.top) * L + c) * L,
                                   t.depth() * L, false);
  });
}

}  // namespace cg::kernels::steps
