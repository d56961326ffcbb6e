// The loops of pointwise.cpp, for processors with AVX-512. A column is a place of an image of the batch.
#pragma once
#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/pointwise.h"

namespace cg::kernels::columns {

using lanes::L;
using lanes::V;
using lanes::vectors;

constexpr int kRows = 8;   // of a product that are computed at a time
constexpr int kWidth = 2;  // vectors of columns, or of channels, that are computed at a time

struct Task {
  Pointwise s;
  const float *x = nullptr, *w = nullptr, *bias = nullptr, *gy = nullptr;
  float *y = nullptr, *gw = nullptr;
  bool turned = false;
  float *panels = nullptr, *maps = nullptr;  // rearranged columns of x and gy
  int64_t first = 0, last = 0;               // the columns of this part of the batch
  int64_t top = 0, bottom = 0;               // the rows of x that are multiplied; other rows were before

  int64_t count() const { return last - first; }
  // A panel consists of kWidth vectors of columns, or of what remains.
  int64_t panel_count() const { return (vectors(count()) + kWidth - 1) / kWidth; }
  float* panel(int64_t i) const { return panels + i * kWidth * L * s.depth(); }
  int64_t row_blocks() const { return (s.out + kRows - 1) / kRows; }
  // The columns one after the other: of x for each block of L channels, of gy with all channels.
  int64_t depth() const { return vectors(count()) * L; }
  float* transposed(int64_t block) const { return panels + block * depth() * L; }
  int64_t map_pitch() const { return vectors(s.out) * L; }
  bool direct() const { return s.places % L == 0; }  // gy is read where it is
};

// Where the numbers of L columns are in an array (batch, rows, pixels), relative to a row of the first image.
struct Span {
  int64_t from[L];
  int first[L], last[L];  // the columns of piece i
  int pieces = 0;
  bool whole() const { return pieces == 1 && first[0] == 0 && last[0] == L; }
};
// Each place of the result is `shift` pixels before a pixel of the array.
CG_INLINE Span span(const Pointwise& s, int64_t rows, int64_t pixels, int64_t shift, int64_t column) {
  Span r;
  const int64_t n = std::min<int64_t>(L, s.columns() - column);
  int64_t image = column / s.places, place = column % s.places;
  for (int64_t at = 0; at < n; ++image, place = 0) {
    const int64_t size = std::min(n - at, s.places - place), pixel = place + shift;
    const int64_t first = std::max<int64_t>(0, -pixel), last = std::min(size, pixels - pixel);
    if (first < last) {
      r.from[r.pieces] = image * rows * pixels + pixel + first;
      r.first[r.pieces] = static_cast<int>(at + first);
      r.last[r.pieces++] = static_cast<int>(at + last);
    }
    at += size;
  }
  return r;
}
CG_INLINE Span of_result(const Pointwise& s, int64_t column) { return span(s, s.out, s.places, 0, column); }
CG_INLINE Span of_image(const Pointwise& s, int64_t column, int64_t tap) {
  return span(s, s.in, s.image, s.shift + tap * s.step, column);
}
CG_INLINE void copy(const float* from, int n, float* to) {
  if (n == 4)
    std::memcpy(to, from, 4 * sizeof(float));
  else
    for (int k = 0; k < n; ++k) to[k] = from[k];
}
// Copies L columns of a row; missing ones become zero.
CG_INLINE void take(const Span& s, const float* row, float* to) {
  if (s.whole()) {
    // The next panel reads another cache line of each row, from a page that the processor would not look ahead in.
    __builtin_prefetch(row + s.from[0] + kWidth * L);
    std::memcpy(to, row + s.from[0], L * sizeof(float));
    return;
  }
  std::memset(to, 0, L * sizeof(float));
  for (int i = 0; i < s.pieces; ++i) copy(row + s.from[i], s.last[i] - s.first[i], to + s.first[i]);
}
CG_INLINE void give(const Span& s, const float* from, float* row) {
  for (int i = 0; i < s.pieces; ++i) copy(from + s.first[i], s.last[i] - s.first[i], row + s.from[i]);
}

template <int N>
CG_INLINE void fill_panel(const Task& t, int64_t column, float* to) {
  Span spans[kMostTaps][N];
  for (int64_t tap = 0; tap < t.s.taps; ++tap)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) spans[tap][j] = of_image(t.s, column + j * L, tap);
  const float* row = t.x;
  for (int64_t k = 0; k < t.s.in; ++k, row += t.s.image)
    for (int64_t tap = 0; tap < t.s.taps; ++tap)
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) take(spans[tap][j], row, to + ((tap * t.s.in + k) * N + j) * L);
}
// The columns of panel i, one row after the other, for each tap.
CG_INLINE void panel(const Task& t, int64_t i) {
  const int64_t column = t.first + i * kWidth * L;
  if (t.last - column > L)
    fill_panel<2>(t, column, t.panel(i));
  else
    fill_panel<1>(t, column, t.panel(i));
}

// sum[r][j] += the sum over k of a[r * row + k * step] b[k][j]. b has N vectors in a row, `next` numbers apart. `far`:
// the columns of a are so far apart that the processor does not look ahead.
template <int N, bool far>
CG_INLINE void add_products(V (&sum)[kRows][N], const float* a, int64_t row, int64_t step, int64_t depth,
                            const float* b, int64_t pitch, int64_t next) {
  constexpr int64_t kAhead = 24;
  for (int64_t k = 0; k < depth; ++k, a += step, b += pitch) {
    if (far) __builtin_prefetch(a + kAhead * step);
    V v[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) lanes::load(v[j], b + j * next);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float x = a[r * row];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) sum[r][j] += x * v[j];
    }
  }
}
template <int N>
CG_INLINE void multiply_panel(const Task& t, int64_t block, int64_t column, const float* panel) {
  const Pointwise& s = t.s;
  // The last rows may be computed twice; they are written once.
  const int64_t row = std::min(block * kRows, s.out - kRows), skip = block * kRows - row;
  V sum[kRows][N];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sum[r][j] = V{} + (t.bias && t.top == 0 ? t.bias[row + r] : 0.0f);
  for (int64_t tap = 0; tap < s.taps; ++tap) {
    const float* const from = panel + (tap * s.in + t.top) * N * L;
    const float* const w = t.w + tap + (t.turned ? t.top * s.out + row : row * s.in + t.top) * s.taps;
    const int64_t depth = t.bottom - t.top;
    if (s.taps > 1)
      add_products<N, true>(sum, w, (t.turned ? 1 : s.in) * s.taps, (t.turned ? s.out : 1) * s.taps, depth, from, N * L,
                            L);
    else if (t.turned)
      add_products<N, true>(sum, w, 1, s.out, depth, from, N * L, L);
    else
      add_products<N, false>(sum, w, s.in, 1, depth, from, N * L, L);
  }
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) {
    const Span to = of_result(s, column + j * L);
    float* const y = t.y + row * s.places;
    if (to.whole()) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if (r < skip) continue;
        float* const here = y + r * s.places + to.from[0];
        if (t.top > 0) {
          V old;
          lanes::load(old, here);
          sum[r][j] += old;
        }
        lanes::store(here, sum[r][j]);
      }
    } else {
      float some[kRows][L];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) lanes::store(some[r], sum[r][j]);
      for (int64_t r = skip; r < kRows; ++r) {
        float* const here = y + r * s.places;
        if (t.top > 0) {
          float old[L];
          take(to, here, old);
          for (int l = 0; l < L; ++l) some[r][l] += old[l];
        }
        give(to, some[r], here);
      }
    }
  }
}
// A block of rows of the result, at the columns of one panel.
CG_INLINE void multiply(const Task& t, int64_t item) {
  const int64_t block = item / t.panel_count(), i = item % t.panel_count(), column = t.first + i * kWidth * L;
  if (t.last - column > L)
    multiply_panel<2>(t, block, column, t.panel(i));
  else
    multiply_panel<1>(t, block, column, t.panel(i));
}

// The columns of a block of L rows, each as a vector. A row is a channel's numbers below one tap; span_of(column, tap)
// says where they are, relative to the channel's first number.
template <class F>
CG_INLINE void transpose(const Task& t, const float* x, int64_t rows, int64_t pixels, int64_t taps, int64_t block,
                         float* to, int64_t pitch, F&& span_of) {
  const int here = static_cast<int>(std::min<int64_t>(L, rows - block * L));
  const float* channel[L];
  int64_t tap[L];
  for (int l = 0; l < here; ++l) {
    channel[l] = x + (block * L + l) / taps * pixels;
    tap[l] = (block * L + l) % taps;
  }
  for (int64_t c = t.first; c < t.last; c += L, to += L * pitch) {
    Span spans[kMostTaps];
    bool whole = here == L;
    for (int64_t k = 0; k < taps; ++k) {
      spans[k] = span_of(c, k);
      whole &= spans[k].whole();
    }
    V v[L];
    if (whole) {
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) lanes::load(v[l], channel[l] + spans[tap[l]].from[0]);
    } else {
      float some[L][L] = {};
      for (int l = 0; l < here; ++l) take(spans[tap[l]], channel[l], some[l]);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) lanes::load(v[l], some[l]);
    }
    lanes::transpose(v);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) lanes::store(to + l * pitch, v[l]);
  }
}
CG_INLINE void transpose_image(const Task& t, int64_t block) {
  transpose(t, t.x, t.s.depth(), t.s.image, t.s.taps, block, t.transposed(block), L,
            [&](int64_t column, int64_t tap) __attribute__((always_inline)) { return of_image(t.s, column, tap); });
}
CG_INLINE void transpose_map(const Task& t, int64_t block) {
  transpose(t, t.gy, t.s.out, t.s.places, 1, block, t.maps + block * L, t.map_pitch(),
            [&](int64_t column, int64_t) __attribute__((always_inline)) { return of_result(t.s, column); });
}

template <int N>
CG_INLINE void multiply_channels(const Task& t, int64_t block, int64_t channels) {
  const Pointwise& s = t.s;
  const int64_t row = std::min(block * kRows, s.out - kRows), skip = block * kRows - row;
  const float* const from = t.transposed(channels);
  const int64_t next = t.depth() * L;
  V sum[kRows][N];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sum[r][j] = V{};
  if (t.direct()) {
    for (int64_t c = t.first; c < t.last;) {
      const int64_t image = c / s.places, place = c % s.places, n = std::min(t.last - c, s.places - place);
      add_products<N, false>(sum, t.gy + (image * s.out + row) * s.places + place, s.places, 1, n,
                             from + (c - t.first) * L, L, next);
      c += n;
    }
  } else {
    add_products<N, false>(sum, t.maps + row, 1, t.map_pitch(), t.count(), from, L, next);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      if (r < skip) continue;
      const int64_t c = (channels + j) * L, n = s.depth() - c;
      float* const to = t.gw + (row + r) * s.depth() + c;
      if (n >= L) {
        if (t.first > 0) {
          V old;
          lanes::load(old, to);
          sum[r][j] += old;
        }
        lanes::store(to, sum[r][j]);
      } else {
        float some[L];
        lanes::store(some, sum[r][j]);
        for (int64_t l = 0; l < n; ++l) to[l] = t.first > 0 ? to[l] + some[l] : some[l];
      }
    }
}
// A block of rows of gw, at the channels of one or two blocks.
CG_INLINE void multiply_gradient(const Task& t, int64_t item) {
  const int64_t rows = t.row_blocks(), block = item % rows, channels = item / rows * kWidth;
  if (t.s.depth() - channels * L > L)
    multiply_channels<2>(t, block, channels);
  else
    multiply_channels<1>(t, block, channels);
}

}  // namespace cg::kernels::columns
