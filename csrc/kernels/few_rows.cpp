#include "kernels/few_rows.h"

#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

struct FewRows {
  const float *x, *w, *bias;
  float* y;
  int64_t rows, many, length;
};

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
constexpr int64_t kAhead = 16 * lanes::L;  // numbers between those that are multiplied and those that are fetched

CG_INLINE float total(const lanes::V& v) {
  float s[lanes::L];
  lanes::store(s, v);
  for (int width = lanes::L / 2; width; width /= 2)
    for (int l = 0; l < width; ++l) s[l] += s[l + width];
  return s[0];
}
CG_INLINE void load_some(lanes::V& v, const float* p, int64_t n) {
  float some[lanes::L] = {};
  std::memcpy(some, p, n * sizeof(float));
  lanes::load(v, some);
}

// The sums of R rows of x with M rows of w, for which R x M vectors of partial sums are registers.
template <int R, int M>
CG_INLINE void dots(const FewRows& p, int64_t row, int64_t of_w) {
  const float *const x = p.x + row * p.length, *const w = p.w + of_w * p.length;
  lanes::V s[R][M] = {};
  int64_t k = 0;
  for (; k + lanes::L <= p.length; k += lanes::L) {
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
    for (int m = 0; m < M; ++m) p.y[(row + r) * p.many + of_w + m] = total(s[r][m]) + (p.bias ? p.bias[of_w + m] : 0);
}
template <int M>
CG_INLINE void all_rows(const FewRows& p, int64_t of_w) {
  int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) dots<4, M>(p, row, of_w);
  if (p.rows - row == 3) dots<3, M>(p, row, of_w);
  if (p.rows - row == 2) dots<2, M>(p, row, of_w);
  if (p.rows - row == 1) dots<1, M>(p, row, of_w);
}
__attribute__((optimize("O3", "no-math-errno", "no-trapping-math"), target(CG_KERNEL_V4))) void part(const FewRows& p,
                                                                                                     int64_t from,
                                                                                                     int64_t to) {
  for (; from + 4 <= to; from += 4) all_rows<4>(p, from);
  for (; from < to; ++from) all_rows<1>(p, from);
}
constexpr bool kCompiled = true;
#else
void part(const FewRows&, int64_t, int64_t) {}
constexpr bool kCompiled = false;
#endif

}  // namespace

bool few_rows_fit() { return kCompiled && simd_level() >= 4; }

void few_rows(const float* x, int64_t rows, const float* w, int64_t many, int64_t length, const float* bias, float* y) {
  const FewRows p{x, w, bias, y, rows, many, length};
  in_threads(many, std::max<int64_t>(4, kGrain / std::max<int64_t>(1, length) * 4),
             [&](int64_t from, int64_t to) { part(p, from, to); });
}

}  // namespace cg::kernels
