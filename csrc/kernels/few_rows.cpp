#include "kernels/few_rows.h"

#include <algorithm>
#include <optional>

#include "kernels/lanes.h"
#include "kernels/threads.h"
#include "kernels/workspace.h"

namespace cg::kernels {
namespace {

static_assert(kMostRows == lanes::L);

CG_INLINE float total(const lanes::V& v) {
  float s[kMostRows];
  lanes::store(s, v);
  for (int width = kMostRows / 2; width; width /= 2)
    for (int l = 0; l < width; ++l) s[l] += s[l + width];
  return s[0];
}
CG_INLINE void load_some(lanes::V& v, const float* p, int64_t n) {
  float some[kMostRows] = {};
  std::memcpy(some, p, n * sizeof(float));
  lanes::load(v, some);
}

// The sums of R rows of x with M rows of w, for which R x M vectors of partial sums are registers.
template <int R, int M>
CG_INLINE void dots(const FewRows& p, int64_t row, int64_t of_w) {
  constexpr int64_t kAhead = 256;  // numbers between those that are multiplied and those that are fetched from memory
  const float *const x = p.x + row * p.length, *const w = p.w + of_w * p.length;
  lanes::V s[R][M] = {};
  int64_t k = 0;
  for (; k + kMostRows <= p.length; k += kMostRows) {
    lanes::V b[M];
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) {
      lanes::load(b[m], w + m * p.length + k);
      __builtin_prefetch(w + m * p.length + k + kAhead);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      lanes::V a;
      lanes::load(a, x + r * p.length + k);
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) s[r][m] += a * b[m];
    }
  }
  if (k < p.length) {
    for (int m = 0; m < M; ++m) {
      lanes::V b;
      load_some(b, w + m * p.length + k, p.length - k);
      for (int r = 0; r < R; ++r) {
        lanes::V a;
        load_some(a, x + r * p.length + k, p.length - k);
        s[r][m] += a * b;
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m)
      p.y[(row + r) * p.y_row + (of_w + m) * p.y_many] = total(s[r][m]) + (p.bias ? p.bias[of_w + m] : 0);
}
template <int M>
CG_INLINE void dots_of_rows(const FewRows& p, int64_t of_w) {
  int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) dots<4, M>(p, row, of_w);
  if (p.rows - row == 3) dots<3, M>(p, row, of_w);
  if (p.rows - row == 2) dots<2, M>(p, row, of_w);
  if (p.rows - row == 1) dots<1, M>(p, row, of_w);
}

// Writes the sums of all rows of x, one in each lane, with M rows of w.
template <int M>
CG_INLINE void write(const FewRows& p, int64_t of_w, lanes::V (&sums)[M]) {
  if constexpr (M == kMostRows) {
    if (p.y_many == 1) {
      lanes::transpose(sums);
      lanes::V bias = {};
      if (p.bias) lanes::load(bias, p.bias + of_w);
      for (int64_t r = 0; r < p.rows; ++r) {
        const lanes::V s = sums[r] + bias;
        lanes::store(p.y + r * p.y_row + of_w, s);
      }
      return;
    }
  }
  for (int m = 0; m < M; ++m) {
    float s[kMostRows];
    lanes::store(s, sums[m]);
    for (int64_t r = 0; r < p.rows; ++r)
      p.y[r * p.y_row + (of_w + m) * p.y_many] = s[r] + (p.bias ? p.bias[of_w + m] : 0);
  }
}
// M rows of a matrix, each `length` numbers behind the one before. Four pointers and three distances stay in registers;
// sixteen pointers would not, and would be read from memory for each product.
template <int M>
struct Pointers {
  static constexpr int kGroups = (M + 3) / 4;
  const float* first[kGroups];
  int64_t apart[4];
  CG_INLINE Pointers(const float* w, int64_t length) : apart{0, length, 2 * length, 3 * length} {
    for (int g = 0; g < kGroups; ++g) first[g] = w + 4 * g * length;
  }
  CG_INLINE const float* of(int m) const { return first[m / 4] + apart[m % 4]; }
  CG_INLINE void advance(int64_t n) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      first[g] += n;
      asm("" : "+r"(first[g]));  // without this the compiler replaces the distances by sixteen pointers
    }
  }
};
template <int M>
CG_INLINE void all_lanes(const FewRows& p, int64_t of_w) {
  constexpr int64_t kAhead = 64, kTogether = 256;  // sums of 256 terms are added up, as in pairwise summation
  Pointers<M> w(p.w + of_w * p.length, p.length);
  const float* lane = p.lanes;
  lanes::V sums[M] = {};
  for (int64_t from = 0; from < p.length; from += kTogether) {
    const int64_t to = std::min(p.length, from + kTogether);
    lanes::V s[M] = {};
    int64_t k = from;
    for (; k + kMostRows <= to; k += kMostRows) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) __builtin_prefetch(w.of(m) + kAhead);
#pragma GCC unroll 16
      for (int j = 0; j < kMostRows; ++j) {
        lanes::V a;
        lanes::load(a, lane + j * kMostRows);
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) s[m] += w.of(m)[j] * a;
      }
      w.advance(kMostRows);
      lane += kMostRows * kMostRows;
    }
    for (; k < to; ++k) {
      lanes::V a;
      lanes::load(a, lane);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) s[m] += *w.of(m) * a;
      w.advance(1);
      lane += kMostRows;
    }
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) sums[m] += s[m];
  }
  write(p, of_w, sums);
}

CG_LANES void by_dots(const FewRows& p, int64_t from, int64_t to) {
  for (; from + 4 <= to; from += 4) dots_of_rows<4>(p, from);
  for (; from < to; ++from) dots_of_rows<1>(p, from);
}
CG_LANES void by_lanes(const FewRows& p, int64_t from, int64_t to) {
  if (p.y_many == 1)
    for (; from + 16 <= to; from += 16) all_lanes<16>(p, from);
  for (; from + 8 <= to; from += 8) all_lanes<8>(p, from);
  for (; from < to; ++from) all_lanes<1>(p, from);
}
CG_LANES void to_lanes(const FewRows& p, float* y) {
  int64_t k = 0;
  if (p.rows == kMostRows)
    for (; k + kMostRows <= p.length; k += kMostRows) {
      lanes::V v[kMostRows];
#pragma GCC unroll 16
      for (int l = 0; l < kMostRows; ++l) lanes::load(v[l], p.x + l * p.length + k);
      lanes::transpose(v);
#pragma GCC unroll 16
      for (int l = 0; l < kMostRows; ++l) lanes::store(y + (k + l) * kMostRows, v[l]);
    }
  const int64_t left = p.length - k;
  lanes::gather(p.x + k, p.x + p.rows * p.length, p.length, static_cast<int>(p.rows), left,
                {y + k * kMostRows, left, left});
}

}  // namespace

bool few_rows_fit() { return lanes::available(); }

void few_rows(FewRows p) {
  const bool dots = p.rows <= kDots;
  std::optional<Workspace<float>> lanes;
  if (!dots && !p.lanes) {
    lanes.emplace(p.length * kMostRows, false);
    to_lanes(p, lanes->get());
    p.lanes = lanes->get();
  }
  in_threads(p.many, std::max<int64_t>(kMostRows, 4 * kGrain / std::max<int64_t>(1, p.length)),
             [&](int64_t from, int64_t to) { dots ? by_dots(p, from, to) : by_lanes(p, from, to); });
}

}  // namespace cg::kernels
