// Products of small matrices and their transposes, where they are in memory.
#include <algorithm>

#include "kernels/cpu.h"
#include "kernels/lanes.h"
#include "kernels/tape.h"

#if defined(CG_KERNEL_V4) && !defined(__clang__)
#include <immintrin.h>
#define CG_TAPE_V4
#endif

namespace cg::kernels::tape {
namespace {

template <class T>
struct AnyProduct {
  Matrices<T> m;
  CG_INLINE void run() const {
    for (int64_t i = 0; i < m.rows; ++i) {
      T* const y = m.y + i * m.y_row;
      for (int64_t j = 0; j < m.columns; ++j) y[j] = 0;
      for (int64_t k = 0; k < m.depth; ++k) {
        const T a = m.a[i * m.a_row + k * m.a_depth];
        const T* const b = m.b + k * m.b_depth;
        CG_IVDEP
        for (int64_t j = 0; j < m.columns; ++j) y[j] += a * b[j];
      }
      for (int64_t j = 0; j < m.columns; ++j) y[j] = m.number * y[j] + (m.d ? m.d[i * m.d_row + j * m.d_column] : T(0));
    }
  }
};

#if defined(CG_TAPE_V4)

constexpr int kRows = 8, kVectors = 3;  // of a block whose sums are registers

template <class T>
struct Wide;
template <>
struct Wide<float> {
  using V = __m512;
  using Mask = __mmask16;
  static constexpr int lanes = 16;
  CG_V4_INLINE V load(Mask m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
  CG_V4_INLINE void store(float* p, Mask m, V v) { _mm512_mask_storeu_ps(p, m, v); }
  CG_V4_INLINE V all(float x) { return _mm512_set1_ps(x); }
  CG_V4_INLINE V add(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
};
template <>
struct Wide<double> {
  using V = __m512d;
  using Mask = __mmask8;
  static constexpr int lanes = 8;
  CG_V4_INLINE V load(Mask m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
  CG_V4_INLINE void store(double* p, Mask m, V v) { _mm512_mask_storeu_pd(p, m, v); }
  CG_V4_INLINE V all(double x) { return _mm512_set1_pd(x); }
  CG_V4_INLINE V add(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
};

// R rows of the result from `row` on, N vectors from `column` on, the last of which may have fewer columns.
template <class T, int R, int N>
CG_V4 void block(const Matrices<T>& m, int64_t row, int64_t column) {
  using W = Wide<T>;
  const int64_t left = m.columns - column - (N - 1) * W::lanes;
  const auto whole = static_cast<typename W::Mask>(-1);
  const auto last = left >= W::lanes ? whole : static_cast<typename W::Mask>((1u << left) - 1);
  typename W::V s[R][N];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) s[r][j] = W::all(0);
  const T *a = m.a + row * m.a_row, *b = m.b + column;
  for (int64_t k = 0; k < m.depth; ++k, a += m.a_depth, b += m.b_depth) {
    typename W::V v[N];
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) v[j] = W::load(j == N - 1 ? last : whole, b + j * W::lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto x = W::all(a[r * m.a_row]);
#pragma GCC unroll 3
      for (int j = 0; j < N; ++j) s[r][j] = W::add(x, v[j], s[r][j]);
    }
  }
  const auto number = W::all(m.number);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) {
      const auto mask = j == N - 1 ? last : whole;
      const int64_t at = column + j * W::lanes;
      auto d = W::all(0);
      if (m.d) {
        const T* const from = m.d + (row + r) * m.d_row;
        d = m.d_column ? W::load(mask, from + at) : W::all(*from);
      }
      W::store(m.y + (row + r) * m.y_row + at, mask, W::add(number, s[r][j], d));
    }
}

template <class T, int N>
void rows(const Matrices<T>& m, int64_t column) {
  constexpr decltype(&block<T, 1, N>) blocks[] = {block<T, 1, N>, block<T, 2, N>, block<T, 3, N>, block<T, 4, N>,
                                                  block<T, 5, N>, block<T, 6, N>, block<T, 7, N>, block<T, 8, N>};
  const int64_t parts = (m.rows + kRows - 1) / kRows;  // of nearly equal size: a block of one row wastes time
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t from = m.rows * i / parts, to = m.rows * (i + 1) / parts;
    blocks[to - from - 1](m, from, column);
  }
}
template <class T>
void wide_product(const Matrices<T>& m) {
  constexpr int L = Wide<T>::lanes;
  const int64_t vectors = (m.columns + L - 1) / L, parts = (vectors + kVectors - 1) / kVectors;
  for (int64_t i = 0; i < parts; ++i) {  // of nearly equal size: one vector takes more than half of the time of two
    const int64_t from = vectors * i / parts, count = vectors * (i + 1) / parts - from;
    if (count == 3)
      rows<T, 3>(m, from * L);
    else if (count == 2)
      rows<T, 2>(m, from * L);
    else
      rows<T, 1>(m, from * L);
  }
}

CG_V4 __attribute__((optimize("O3"))) void wide_transpose(int64_t rows, int64_t columns, const float* x, int64_t x_row,
                                                          float* y, int64_t y_row) {
  using lanes::L;
  for (int64_t i = 0; i < rows; i += L)
    for (int64_t j = 0; j < columns; j += L) {
      const int here = static_cast<int>(std::min<int64_t>(L, rows - i));
      const int wide = static_cast<int>(std::min<int64_t>(L, columns - j));
      const auto from = static_cast<__mmask16>((1u << wide) - 1), to = static_cast<__mmask16>((1u << here) - 1);
      lanes::V v[L];
      if (here == L) {
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l) v[l] = (lanes::V)_mm512_maskz_loadu_ps(from, x + (i + l) * x_row + j);
      } else {
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l)
          v[l] = l < here ? (lanes::V)_mm512_maskz_loadu_ps(from, x + (i + l) * x_row + j) : lanes::V{};
      }
      lanes::transpose(v);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l)
        if (l < wide) _mm512_mask_storeu_ps(y + (j + l) * y_row + i, to, (__m512)v[l]);
    }
}
#endif

}  // namespace

template <class T>
void multiply(const Matrices<T>& m) {
#if defined(CG_TAPE_V4)
  if (simd_level() >= 4) return wide_product(m);
#endif
  detail::run_loop(AnyProduct<T>{m});
}
template void multiply(const Matrices<float>&);
template void multiply(const Matrices<double>&);

void transpose(int64_t rows, int64_t columns, const float* x, int64_t x_row, float* y, int64_t y_row) {
#if defined(CG_TAPE_V4)
  if (simd_level() >= 4) return wide_transpose(rows, columns, x, x_row, y, y_row);
#endif
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) y[j * y_row + i] = x[i * x_row + j];
}

}  // namespace cg::kernels::tape
