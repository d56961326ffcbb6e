// The loops of dense.cpp and attention_heads.cpp, for processors with AVX-512. Blocks of kRows rows of a matrix a are
// multiplied in registers by a panel: up to kWidth vectors of columns of the other matrix, one row after the other.
#pragma once
#include <algorithm>

#include "kernels/dense.h"
#include "kernels/lanes.h"

namespace cg::kernels::dense_loops {

using lanes::L;
using lanes::V;
using lanes::vectors;

constexpr int kFewRows = 4, kRows = 8,
              kWidth = 3;  // 24 sums are registers, and 8 rows and 3 vectors need few loads for them
constexpr int kAhead = 4;  // rows that a block fetches from memory

// A block of R rows of a, which is kRows or fewer, times a panel.
struct Block {
  const float* a;       // the first number of the first row
  int64_t a_pitch;      // between rows; unused if the rows lie side by side
  const float* panel;   // N vectors in a row for each number of a row of a
  int64_t panel_pitch;  // numbers from one row of the panel to the next
  int64_t depth;
  const float* bias;  // of the panel's columns, or null
  float* y;
  int64_t y_pitch;
  bool add;            // to what y contains, instead of a bias
  const float* ahead;  // the first of kAhead rows of `depth` numbers that are fetched meanwhile, or null
  int64_t ahead_pitch = 0;
};

// step: 0, or the numbers between two columns of a if its rows lie side by side.
template <int R, int N, int step>
CG_INLINE void add_column(V (&sum)[R][N], const float* const (&row)[R], int64_t k, const float* b) {
  V v[N];
#pragma GCC unroll 3
  for (int j = 0; j < N; ++j) lanes::load(v[j], b + j * L);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const float x = step ? row[0][k * step + r] : row[r][k];
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) sum[r][j] += x * v[j];
  }
}
// This function does nothing else: compilers keep all sums and pointers in registers only if no others are needed.
template <int R, int N, int step>
CG_INLINE void multiply(const Block& t) {
  V sum[R][N], start[N] = {};
  if (t.bias)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) lanes::load(start[j], t.bias + j * L);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) sum[r][j] = start[j];
  const float* row[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) row[r] = t.a + r * t.a_pitch;
  const int64_t depth = t.depth, pitch = t.panel_pitch;
  const float *b = t.panel, *const ahead = t.ahead;
  int64_t k = 0;
  if (ahead) {
    while (k + L <= depth) {
#pragma GCC unroll 4
      for (int i = 0; i < kAhead; ++i) __builtin_prefetch(ahead + i * t.ahead_pitch + k, 0, 2);
      const int64_t end = k + L;
#pragma GCC unroll 2
      for (; k < end; ++k, b += pitch) add_column<R, N, step>(sum, row, k, b);
    }
  }
#pragma GCC unroll 2
  for (; k < depth; ++k, b += pitch) add_column<R, N, step>(sum, row, k, b);
  if (t.add)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int j = 0; j < N; ++j) {
        V before;
        lanes::load(before, t.y + r * t.y_pitch + j * L);
        sum[r][j] += before;
      }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) lanes::store(t.y + r * t.y_pitch + j * L, sum[r][j]);
}

// Copies `depth` numbers of up to L rows, which lie `pitch` numbers apart, into vectors with one number of each row,
// `next` numbers apart; missing rows are zeros.
CG_INLINE void transpose(const float* x, int64_t pitch, int rows, int64_t depth, float* to, int64_t next) {
  int64_t k = 0;
  if (rows == L) {
    for (; k + L <= depth; k += L) {
      V v[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) lanes::load(v[l], x + l * pitch + k);
      lanes::transpose(v);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) lanes::store(to + (k + l) * next, v[l]);
    }
  }
  for (; k < depth; ++k)
    for (int l = 0; l < L; ++l) to[k * next + l] = l < rows ? x[l * pitch + k] : 0.0f;
}
// Copies the first `count` numbers of `depth` rows, which lie `pitch` numbers apart, into panels of kWidth vectors,
// which lie `next` numbers apart; the last panel may have fewer, and missing numbers are zeros.
CG_INLINE void copy(const float* x, int64_t pitch, int64_t depth, float* to, int64_t next, int64_t count) {
  constexpr int64_t kUnit = kWidth * L, kAhead = 4;  // rows that are fetched meanwhile: they may lie in other pages
  for (int64_t k = 0; k < depth; ++k, x += pitch) {
    for (int64_t c = 0; c < count && k + kAhead < depth; c += L) __builtin_prefetch(x + kAhead * pitch + c);
    int64_t c = 0;
    float* panel = to;
    for (; c + kUnit <= count; c += kUnit, panel += next)
#pragma GCC unroll 3
      for (int j = 0; j < kWidth; ++j) {
        V v;
        lanes::load(v, x + c + j * L);
        lanes::store(panel + k * kUnit + j * L, v);
      }
    const int64_t wide = vectors(count - c) * L;
    for (int64_t i = 0; i < wide; ++i) panel[k * wide + i] = c + i < count ? x[c + i] : 0.0f;
  }
}
// None of these functions must be called unless lanes::available(). A panel has `width` vectors in a row; the rows of a
// do not lie side by side.
void multiply_rows(int width, const Block& t);
void transpose_rows(const float* x, int64_t pitch, int rows, int64_t depth, float* to, int64_t next);
void copy_rows(const float* x, int64_t pitch, int64_t depth, float* to, int64_t next, int64_t count);

}  // namespace cg::kernels::dense_loops
