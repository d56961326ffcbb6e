// The loops of taps.cpp, for processors with AVX-512. They work on rearranged arrays: images and maps have the axes
// (blocks of 16 channels, rows, columns, images, 16 channels), filters (blocks of the result's channels, numbers of a
// filter, channels that are summed, 16 channels of the result).
#pragma once
#include "kernels/taps.h"
#include "kernels/tile_parts.h"

namespace cg::kernels::taps {

using tiles::blocks;
using tiles::channels_of;
using tiles::L;
using tiles::V;

// The rows `low` to `high` - 1 of a rearranged image or map, which are in memory.
struct Rows {
  float* data = nullptr;
  int64_t low = 0, high = 0, columns = 0, images = 0;

  int64_t distance() const { return tiles::distance((high - low) * columns * images); }  // of two blocks
  float* at(int64_t block, int64_t row, int64_t column) const {
    return data + block * distance() + ((row - low) * columns + column) * images * L;
  }
};

struct Task {
  Taps s;
  bool turned = false;                // the result is the image, whose channels are the second axis of w
  int64_t in = 0, out = 0;            // channels that are summed, and channels of the result
  int64_t next_in = 0, next_out = 0;  // the distances of their filters in w
  const float *x = nullptr, *gy = nullptr, *w = nullptr, *bias = nullptr;
  float *y = nullptr, *filters = nullptr;
  Rows from, to;  // the array that is summed, and the group's blocks of the result; for filters the image and the map
  int64_t left = 0, right = 0;  // the group: the blocks of `out` whose filters are in memory
  bool add = false;             // gradients of filters are added to those of the parts before

  int64_t numbers() const { return s.filter[0] * s.filter[1]; }
  int64_t filter_distance() const { return tiles::distance(numbers() * blocks(in) * L); }
  float* filter(int64_t block, int64_t number) const {
    return filters + (block - left) * filter_distance() + number * blocks(in) * L * L;
  }
  // Where along `axis` number i of the filter meets place k of the result; -1 if it does not.
  int64_t source(int axis, int64_t k, int64_t i) const {
    if (!turned) {
      const int64_t r = k * s.stride[axis] - s.pad[axis] + i * s.dilate[axis];
      return r < s.image[axis] ? std::max<int64_t>(r, -1) : -1;
    }
    const int64_t r = k + s.pad[axis] - i * s.dilate[axis];
    return r >= 0 && r % s.stride[axis] == 0 && r / s.stride[axis] < s.map[axis] ? r / s.stride[axis] : -1;
  }
};

// Copies a block of one image's channels from an array in C order to `rows`.
CG_INLINE void spread(const float* x, int64_t channels, int64_t height, const Rows& rows, const Task& t, int64_t item) {
  const int64_t block = item / rows.images, n = item % rows.images, count = (rows.high - rows.low) * rows.columns;
  float* const to = rows.at(block, rows.low, 0) + n * L;
  if (n >= t.s.batch) {
    for (int64_t i = 0; i < count; ++i) std::memset(to + i * rows.images * L, 0, sizeof(V));
    return;
  }
  const int64_t plane = height * rows.columns;
  lanes::gather(x + (n * channels + block * L) * plane + rows.low * rows.columns, x + t.s.batch * channels * plane,
                plane, channels_of(channels, block), count, {to, 1, rows.images});
}
// Rearranges the array that is summed.
CG_INLINE void sources(const Task& t, int64_t item) {
  const int64_t height = t.turned ? t.s.map[0] : t.s.image[0];
  spread(t.x, t.in, height, t.from, t, item);
}
// Rearranges the gradient of the map, from which that of the filters is computed.
CG_INLINE void maps(const Task& t, int64_t item) { spread(t.gy, t.out, t.s.map[0], t.to, t, item); }

// Rearranges the filters of a block of `out` and a block of `in`.
CG_INLINE void filters(const Task& t, int64_t item) {
  const int64_t block = t.left + item / blocks(t.in), from = item % blocks(t.in), numbers = t.numbers();
  const int channels = channels_of(t.out, block), given = channels_of(t.in, from);
  const float* const end = t.w + t.s.image_channels * t.s.map_channels * numbers;
  const float* const w = t.w + block * L * t.next_out + from * L * t.next_in;
  if (!t.turned) {  // the numbers of all channels lie one after the other
    const tiles::Buffer some = tiles::buffer(L * numbers);
    lanes::gather(w, end, t.next_out, channels, given * numbers, {some.get(), L * numbers, L * numbers});
    for (int64_t k = 0; k < numbers; ++k)
      for (int c = 0; c < L; ++c)
        std::memcpy(t.filter(block, k) + (from * L + c) * L, some.get() + (c * numbers + k) * L, sizeof(V));
    return;
  }
  float some[L * L];
  for (int c = 0; c < L; ++c)
    for (int64_t k = 0; k < numbers; k += L) {
      const int64_t count = std::min<int64_t>(L, numbers - k);
      if (c >= given || numbers == 1) std::memset(some, 0, sizeof some);
      if (c < given && numbers == 1) std::memcpy(some, w + c * t.next_in, channels * sizeof(float));
      if (c < given && numbers > 1)
        lanes::gather(w + c * t.next_in + k, end, t.next_out, channels, count, {some, L, L});
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(t.filter(block, k + i) + (from * L + c) * L, some + i * L, sizeof(V));
    }
}
// Writes the rearranged gradients of filters into an array in C order.
CG_INLINE void filter_grads(const Task& t, int64_t item) {
  const int64_t block = t.left + item / blocks(t.in), from = item % blocks(t.in), numbers = t.numbers();
  const int given = channels_of(t.in, from);
  const tiles::Buffer some = tiles::buffer(L * numbers);
  for (int64_t k = 0; k < numbers; ++k) {
    const float* const of = t.filter(block, k) + from * L * L;
    for (int c = 0; c < given; ++c) std::memcpy(some.get() + (c * numbers + k) * L, of + c * L, sizeof(V));
  }
  lanes::scatter({some.get(), L * numbers, L * numbers}, t.next_out, channels_of(t.out, block), given * numbers,
                 t.y + block * L * t.next_out + from * L * numbers);
}

// Adds the products for a row of one or two blocks of the result, R images at a time. For each number of the filters,
// 256 of the channels that are summed are taken at a time, whose filters stay in the nearest cache.
template <int R, int M>
CG_INLINE void multiply_row(const Task& t, int64_t row, int64_t block) {
  constexpr int64_t kBlocks = 16;
  const int64_t in = blocks(t.in), images = t.to.images;
  const int64_t next = t.from.distance(), next_filter = t.filter_distance(), next_result = t.to.distance();
  for (int64_t i = 0; i < t.s.filter[0]; ++i) {
    const int64_t line = t.source(0, row, i);
    if (line < 0) continue;
    for (int64_t j = 0; j < t.s.filter[1]; ++j)
      for (int64_t b = 0; b < in; b += kBlocks) {
        const float* const w = t.filter(block, i * t.s.filter[1] + j) + b * L * L;
        for (int64_t column = 0; column < t.to.columns; ++column) {
          const int64_t place = t.source(1, column, j);
          if (place < 0) continue;
          const float* const x = t.from.at(b, line, place);
          float* const y = t.to.at(block - t.left, row, column);
          for (int64_t n = 0; n < images; n += R)
            lanes::product<R, M, L, 1>(x + n * L, std::min(kBlocks, in - b), L, next, w, next_filter, y + n * L,
                                       next_result, true);
        }
      }
  }
}
// Computes a row of two of the group's blocks.
template <int R>
CG_INLINE void multiply(const Task& t, int64_t item) {
  const int64_t rows = t.to.high - t.to.low, row = t.to.low + item % rows, block = t.left + item / rows * 2;
  const int64_t blocks = std::min<int64_t>(2, t.right - block);
  for (int64_t b = block; b < block + blocks; ++b) {
    const V first = tiles::bias_of(t.bias, t.out, b);
    float* y = t.to.at(b - t.left, row, 0);
    for (int64_t i = 0; i < t.to.columns * t.to.images; ++i, y += L) lanes::store(y, first);
  }
  if (blocks == 2) return multiply_row<R, 2>(t, row, block);
  multiply_row<R, 1>(t, row, block);
}
// Copies one of the group's blocks of an image's channels to the result in C order.
CG_INLINE void results(const Task& t, int64_t item) {
  const int64_t block = t.left + item / t.s.batch, n = item % t.s.batch;
  const int64_t height = t.turned ? t.s.image[0] : t.s.map[0], plane = height * t.to.columns;
  lanes::scatter({t.to.at(block - t.left, t.to.low, 0) + n * L, 1, t.to.images}, plane, channels_of(t.out, block),
                 (t.to.high - t.to.low) * t.to.columns,
                 t.y + (n * t.out + block * L) * plane + t.to.low * t.to.columns);
}

// Computes the gradient of one number of the filters of one or two blocks of the map, for R channels of the image at a
// time.
template <int R, int M>
CG_INLINE void multiply_number(const Task& t, int64_t number, int64_t block) {
  const int64_t i = number / t.s.filter[1], j = number % t.s.filter[1], images = t.from.images;
  int64_t first = 0, last = t.to.columns;  // the columns of the map where the number is inside the image
  while (first < last && t.source(1, first, j) < 0) ++first;
  while (first < last && t.source(1, last - 1, j) < 0) --last;
  for (int64_t b = 0; b < blocks(t.in); ++b)
    for (int c = 0; c < L; c += R) {
      V sum[R][M];
      lanes::clear(sum);
      for (int64_t row = t.to.low; first < last && row < t.to.high; ++row) {
        const int64_t line = t.source(0, row, i);
        if (line < 0) continue;
        lanes::add_product<R, M, 1, L>(sum, t.from.at(b, line, t.source(1, first, j)) + c, last - first, images,
                                       t.s.stride[1] * images * L, t.to.at(block, row, first), t.to.distance());
      }
      lanes::write(sum, t.filter(block, number) + (b * L + c) * L, t.filter_distance(), t.add);
    }
}
// Computes the gradient of one number of the filters of two of the group's blocks.
template <int R>
CG_INLINE void multiply_filters(const Task& t, int64_t item) {
  const int64_t numbers = t.numbers(), number = item % numbers, block = t.left + item / numbers * 2;
  if (block + 1 < t.right) return multiply_number<R, 2>(t, number, block);
  multiply_number<R, 1>(t, number, block);
}

}  // namespace cg::kernels::taps
