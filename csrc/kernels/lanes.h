// Vectors of 16 floats, one per channel of a block, for CPU loops. Each function is inlined into a function that is
// compiled for one instruction set.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/threads.h"

#if defined(__GNUC__) && !defined(__clang__)
// The vectors never cross the boundary of a function, because all of these functions are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
// An attribute of functions for processors with AVX-512, into which loops over such vectors are inlined. They must not
// be called unless lanes::available().
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define CG_LANES __attribute__((CG_VECTORIZE, target(CG_KERNEL_V4)))
#define CG_HAS_LANES 1
#else
#define CG_LANES
#define CG_HAS_LANES 0
#endif

namespace cg::kernels::lanes {

inline bool available() { return CG_HAS_LANES && simd_level() >= 4; }

constexpr int L = 16;  // numbers that loops compute at a time: floats of the widest registers
using V = float __attribute__((vector_size(4 * L)));
using Order = int __attribute__((vector_size(4 * L)));

// How many vectors contain n numbers.
inline int64_t vectors(int64_t n) { return (n + L - 1) / L; }

CG_INLINE void load(V& v, const float* p) { std::memcpy(&v, p, sizeof v); }
CG_INLINE void store(float* p, const V& v) { std::memcpy(p, &v, sizeof v); }

// r = the elements of a and b, one after the other, in this order.
CG_INLINE void pick(V& r, const V& a, const V& b, const Order& order) {
#if defined(__clang__)
  for (int l = 0; l < L; ++l) r[l] = order[l] < L ? a[order[l]] : b[order[l] - L];
#else
  r = __builtin_shuffle(a, b, order);
#endif
}
// Exchanges rows and columns. In the step of distance s, elements whose row has bit s set change places with elements
// whose column has it set.
template <int s>
CG_INLINE void exchange(V (&v)[L]) {
  Order low, high;
  for (int l = 0; l < L; ++l) {
    low[l] = l & s ? l - s + L : l;
    high[l] = l & s ? l + L : l + s;
  }
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i)
    if (!(i & s)) {
      const V a = v[i], b = v[i + s];
      pick(v[i], a, b, low);
      pick(v[i + s], a, b, high);
    }
}
CG_INLINE void transpose(V (&v)[L]) {
  exchange<8>(v);
  exchange<4>(v);
  exchange<2>(v);
  exchange<1>(v);
}

// Rows of a two-dimensional array of vectors, which may have more columns than the rows that are copied.
struct Rows {
  float* data;
  int64_t width, pitch;  // vectors of a row that are copied, vectors from row to row
};
// Copies `count` numbers of each of `channels` arrays, which start `stride` numbers apart, into vectors with one number
// of each array. Missing channels are zero. `end`: the end of the memory that may be read.
CG_INLINE void gather(const float* x, const float* end, int64_t stride, int channels, int64_t count, const Rows& y) {
  float* to = y.data;
  int64_t column = 0;
  for (int64_t i = 0; i < count; i += L) {
    const int64_t n = count - i < L ? count - i : L;
    V v[L];
    if (channels == L && end - x >= (L - 1) * stride + i + L) {
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) load(v[l], x + l * stride + i);
    } else {
      float some[L][L] = {};
      for (int l = 0; l < channels; ++l)
        for (int k = 0; k < n; ++k) some[l][k] = x[l * stride + i + k];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) load(v[l], some[l]);
    }
    transpose(v);
    float flat[L][L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) store(flat[l], v[l]);
    for (int k = 0; k < n; ++k) {
      std::memcpy(to, flat[k], sizeof flat[k]);
      to += L;
      if (++column == y.width) {
        column = 0;
        to += (y.pitch - y.width) * L;
      }
    }
  }
}
// The reverse of `gather`.
CG_INLINE void scatter(const Rows& x, int64_t stride, int channels, int64_t count, float* y) {
  const float* from = x.data;
  int64_t column = 0;
  for (int64_t i = 0; i < count; i += L) {
    const int64_t n = count - i < L ? count - i : L;
    float flat[L][L];
    for (int k = 0; k < n; ++k) {
      std::memcpy(flat[k], from, sizeof flat[k]);
      from += L;
      if (++column == x.width) {
        column = 0;
        from += (x.pitch - x.width) * L;
      }
    }
    V v[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) load(v[l], flat[l]);
    transpose(v);
    if (n == L && channels == L) {
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) store(y + l * stride + i, v[l]);
    } else {
      float some[L][L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) store(some[l], v[l]);
      for (int l = 0; l < channels; ++l)
        for (int k = 0; k < n; ++k) y[l * stride + i + k] = some[l][k];
    }
  }
}

template <int R, int N>
CG_INLINE void clear(V (&sum)[R][N]) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sum[r][j] = V{};
}
// sum += the sum over k of a[r][k] b[k]. Rows of a are `row` numbers apart, its columns `step`; after each `inner`
// columns follow others, `outer` numbers further.
template <int R, int N, int row, int step>
CG_INLINE void add_product(V (&sum)[R][N], const float* a, int64_t blocks, int64_t inner, int64_t outer, const float* b,
                           int64_t next_b) {
  for (int64_t i = 0; i < blocks; ++i, a += outer)
    for (int64_t k = 0; k < inner; ++k, b += L) {
      V y[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) load(y[j], b + j * next_b);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const float x = a[r * row + k * step];
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) sum[r][j] += x * y[j];
      }
    }
}
// c (R vectors of N blocks) = sum, or that added to c.
template <int R, int N>
CG_INLINE void write(V (&sum)[R][N], float* c, int64_t next_c, bool add) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      float* const to = c + r * L + j * next_c;
      if (add) {
        V old;
        load(old, to);
        sum[r][j] += old;
      }
      store(to, sum[r][j]);
    }
}
// Both together, from sums of zero.
template <int R, int N, int row, int step>
CG_INLINE void product(const float* a, int64_t blocks, int64_t inner, int64_t outer, const float* b, int64_t next_b,
                       float* c, int64_t next_c, bool add) {
  V sum[R][N];
  clear(sum);
  add_product<R, N, row, step>(sum, a, blocks, inner, outer, b, next_b);
  write(sum, c, next_c, add);
}

}  // namespace cg::kernels::lanes
