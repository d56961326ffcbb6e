// The loops of few_channels.cpp. A column is a place of the result of the batch.
#pragma once
#include <algorithm>

#include "kernels/few_channels.h"
#include "kernels/threads.h"

#if defined(CG_KERNEL_V4)
#include <immintrin.h>

namespace cg::kernels::windows {
namespace {

constexpr int L = 16;
constexpr int64_t kLargest = 7;  // rows and columns of a filter
constexpr int kRows = 8;         // filters that are multiplied at a time
constexpr int kWidth = 2;        // by so many vectors of columns
constexpr int kDepth = 3;        // numbers of a filter whose gradient is computed at a time

CG_V4_INLINE __mmask16 lanes(int64_t first, int64_t end) {
  return static_cast<__mmask16>(((1u << end) - 1) & ~((1u << first) - 1));
}

// The columns of a vector that are in one row of an image of the result.
struct Piece {
  const float* x;            // the image
  int64_t row, column;       // of the image, below the filter's first number; lane 0 would be there
  uint32_t masks[kLargest];  // for each column of the filter, which of 16, or 32, consecutive numbers are read
};
struct Pieces {
  Piece piece[L];
  int count = 0;
};
template <int stride>
CG_V4_INLINE void find(const FewChannels& s, const float* x, int64_t column, Pieces& r) {
  const int64_t n = std::min<int64_t>(L, s.columns() - column);
  int64_t image = column / s.places(), row = column % s.places() / s.out_width, place = column % s.out_width;
  r.count = 0;
  for (int64_t lane = 0; lane < n; place = 0) {
    Piece& p = r.piece[r.count++];
    const int64_t end = std::min(n, lane + s.out_width - place);
    p.x = x + image * s.in * s.height * s.width;
    p.row = row * s.stride[0] - s.pad[0];
    p.column = (place - lane) * stride - s.pad[1];
    for (int64_t k = 0; k < s.size[1]; ++k) {
      // lane l reads the number p.column + k + l * stride of the row
      const int64_t before = -(p.column + k), after = s.width - (p.column + k);
      const int64_t first = std::clamp((before + stride - 1) / stride, lane, end);
      const int64_t last = std::clamp((after + stride - 1) / stride, first, end);
      const uint32_t every = stride == 2 ? 0x55555555u : 0xffffffffu;
      p.masks[k] = static_cast<uint32_t>(((uint64_t(1) << last * stride) - (uint64_t(1) << first * stride)) & every);
    }
    lane = end;
    if (++row == s.out_height) row = 0, ++image;
  }
}
// The numbers of a channel below one number of the filters.
template <int stride>
CG_V4_INLINE __m512 read(const FewChannels& s, const Pieces& from, int64_t channel, int64_t i, int64_t j) {
  __m512 r = _mm512_setzero_ps();
  for (int k = 0; k < from.count; ++k) {
    const Piece& p = from.piece[k];
    const int64_t row = p.row + i;
    if (row < 0 || row >= s.height) continue;
    const float* const x = p.x + (channel * s.height + row) * s.width + p.column + j;
    __m512 v = _mm512_maskz_loadu_ps(static_cast<__mmask16>(p.masks[j]), x);
    if constexpr (stride == 2) {
      const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      v = _mm512_permutex2var_ps(v, even, _mm512_maskz_loadu_ps(static_cast<__mmask16>(p.masks[j] >> L), x + L));
    }
    r = _mm512_or_ps(r, v);  // the lanes of other pieces are zeros
  }
  return r;
}
// Writes the numbers below each number of the filters, N vectors of them, to where `to` says.
template <int stride, int N, class F>
CG_V4_INLINE void fill(const FewChannels& s, const float* x, int64_t column, F&& to) {
  Pieces pieces[N];
#pragma GCC unroll 2
  for (int k = 0; k < N; ++k) find<stride>(s, x, column + k * L, pieces[k]);
  for (int64_t c = 0, number = 0; c < s.in; ++c)
    for (int64_t i = 0; i < s.size[0]; ++i)
      for (int64_t j = 0; j < s.size[1]; ++j, ++number) {
        float* const here = to(number);
#pragma GCC unroll 2
        for (int k = 0; k < N; ++k) _mm512_storeu_ps(here + k * L, read<stride>(s, pieces[k], c, i, j));
      }
}

// Where L columns are in an array (batch, out, ...), relative to an image's first number of a channel.
struct Span {
  int64_t from[L];
  __mmask16 mask[L];
  int pieces = 0;
  bool whole = false;
};
CG_V4_INLINE void find_result(const FewChannels& s, int64_t column, Span& r) {
  const int64_t n = std::min<int64_t>(L, s.columns() - column), places = s.places();
  int64_t image = column / places, place = column % places;
  r.pieces = 0;
  for (int64_t lane = 0; lane < n; ++image, place = 0) {
    const int64_t end = std::min(n, lane + places - place);
    r.from[r.pieces] = image * s.out * places + place - lane;
    r.mask[r.pieces++] = lanes(lane, end);
    lane = end;
  }
  r.whole = r.pieces == 1 && n == L;
}
CG_V4_INLINE void write(const Span& s, float* y, __m512 v) {
  if (s.whole) return _mm512_storeu_ps(y + s.from[0], v);
  for (int i = 0; i < s.pieces; ++i) _mm512_mask_storeu_ps(y + s.from[i], s.mask[i], v);
}
CG_V4_INLINE __m512 read(const Span& s, const float* y) {
  if (s.whole) return _mm512_loadu_ps(y + s.from[0]);
  __m512 r = _mm512_setzero_ps();
  for (int i = 0; i < s.pieces; ++i) r = _mm512_or_ps(r, _mm512_maskz_loadu_ps(s.mask[i], y + s.from[i]));
  return r;
}

// The product of all filters with N vectors of columns.
template <int stride, int N>
CG_V4_INLINE void multiply(const FewChannels& s, const float* x, const float* w, const float* bias, float* y,
                           float* panel, int64_t column) {
  fill<stride, N>(s, x, column, [&](int64_t number) { return panel + number * N * L; });
  Span spans[N];
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) find_result(s, column + j * L, spans[j]);
  const int64_t depth = s.depth();
  for (int64_t block = 0; block < s.out; block += kRows) {
    const int64_t row = std::min(block, s.out - kRows);  // the last rows may be computed twice
    __m512 sum[kRows][N];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) sum[r][j] = _mm512_set1_ps(bias ? bias[row + r] : 0.0f);
    const float *a = w + row * depth, *b = panel;
    for (int64_t k = 0; k < depth; ++k, ++a, b += N * L) {
      __m512 v[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) v[j] = _mm512_loadu_ps(b + j * L);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m512 f = _mm512_set1_ps(a[r * depth]);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) sum[r][j] = _mm512_fmadd_ps(f, v[j], sum[r][j]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) write(spans[j], y + (row + r) * s.places(), sum[r][j]);
  }
}
template <int stride>
CG_V4 void multiply_panel(const FewChannels& s, const float* x, const float* w, const float* bias, float* y,
                          float* panel, int64_t i) {
  const int64_t column = i * kWidth * L;
  if (s.columns() - column > L)
    multiply<stride, 2>(s, x, w, bias, y, panel, column);
  else
    multiply<stride, 1>(s, x, w, bias, y, panel, column);
}

// What the gradient of the filters is computed from: some columns, as vectors of kDepth numbers below the filters, and
// of kRows channels of the result; missing ones are zeros.
struct Part {
  const FewChannels& s;
  const float *x = nullptr, *gy = nullptr;
  float *images = nullptr, *maps = nullptr, *sums = nullptr;
  // (depth blocks, vectors, kDepth), (row blocks, vectors, kRows), and for each two blocks
  int64_t first = 0, last = 0;
  int64_t vectors() const { return (last - first + L - 1) / L; }
  int64_t depth_blocks() const { return (s.depth() + kDepth - 1) / kDepth; }
  int64_t row_blocks() const { return (s.out + kRows - 1) / kRows; }
  float* image(int64_t block, int64_t vector) const { return images + (block * vectors() + vector) * kDepth * L; }
  float* map(int64_t block, int64_t vector) const { return maps + (block * vectors() + vector) * kRows * L; }
};
template <int stride>
CG_V4 void fill_images(const Part& t, int64_t vector) {
  fill<stride, 1>(t.s, t.x, t.first + vector * L,
                  [&](int64_t number) { return t.image(number / kDepth, vector) + number % kDepth * L; });
  for (int64_t number = t.s.depth(); number < t.depth_blocks() * kDepth; ++number)
    _mm512_storeu_ps(t.image(number / kDepth, vector) + number % kDepth * L, _mm512_setzero_ps());
}
CG_V4 void fill_maps(const Part& t, int64_t vector) {
  Span span;
  find_result(t.s, t.first + vector * L, span);
  for (int64_t r = 0; r < t.row_blocks() * kRows; ++r)
    _mm512_storeu_ps(t.map(r / kRows, vector) + r % kRows * L,
                     r < t.s.out ? read(span, t.gy + r * t.s.places()) : _mm512_setzero_ps());
}
// For each lane, sums of products of kRows channels of the result with kDepth numbers below the filters.
CG_V4 void add_products(const Part& t, int64_t row_block) {
  for (int64_t block = 0; block < t.depth_blocks(); ++block) {
    const float *x = t.image(block, 0), *g = t.map(row_block, 0);
    float* const sums = t.sums + (row_block * t.depth_blocks() + block) * kRows * kDepth * L;
    __m512 sum[kRows][kDepth];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int k = 0; k < kDepth; ++k)
        sum[r][k] = t.first ? _mm512_loadu_ps(sums + (r * kDepth + k) * L) : _mm512_setzero_ps();
    for (int64_t n = t.vectors(); n > 0; --n, x += kDepth * L, g += kRows * L) {
      __m512 v[kDepth];
#pragma GCC unroll 3
      for (int k = 0; k < kDepth; ++k) v[k] = _mm512_loadu_ps(x + k * L);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        __m512 f = _mm512_loadu_ps(g + r * L);
        __asm__("" : "+v"(f));  // or GCC reads the cache for each of its products
#pragma GCC unroll 3
        for (int k = 0; k < kDepth; ++k) sum[r][k] = _mm512_fmadd_ps(f, v[k], sum[r][k]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int k = 0; k < kDepth; ++k) _mm512_storeu_ps(sums + (r * kDepth + k) * L, sum[r][k]);
  }
}
// Adds up the lanes.
CG_V4 void finish(const Part& t, float* gw) {
  for (int64_t b = 0; b < t.row_blocks(); ++b)
    for (int64_t c = 0; c < t.depth_blocks(); ++c) {
      const float* sums = t.sums + (b * t.depth_blocks() + c) * kRows * kDepth * L;
      for (int64_t r = b * kRows; r < (b + 1) * kRows; ++r)
        for (int64_t k = c * kDepth; k < (c + 1) * kDepth; ++k, sums += L)
          if (r < t.s.out && k < t.s.depth()) gw[r * t.s.depth() + k] = _mm512_reduce_add_ps(_mm512_loadu_ps(sums));
    }
}

}  // namespace
}  // namespace cg::kernels::windows
#endif
