// Overlaps of one box with many, as vector code.
#include "kernels/simd.h"
#include "ops/detection.h"

namespace cg::detection {
namespace {

// Fused multiply-adds would round differently from the originals.
#define CG_ROUNDED __attribute__((optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")))

template <class N>
CG_INLINE Box<N> take(const N* const* c, int64_t i) {
  return {c[0][i], c[1][i], c[2][i], c[3][i], c[4][i]};
}
template <class N>
CG_INLINE void all(int64_t n, const N* const* columns, const Box<N>& box, N* __restrict to) {
  const N* const c[] = {columns[0], columns[1], columns[2], columns[3], columns[4]};
  const Box<N> one = box;
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) to[i] = overlap(one, take(c, i));
}
template <class N>
CG_INLINE void most(int64_t n, const N* const* columns, const Box<N>& box, int32_t number, float* __restrict to,
                    float* __restrict best, int32_t* __restrict which) {
  const N* const c[] = {columns[0], columns[1], columns[2], columns[3], columns[4]};
  const Box<N> one = box;
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float v = static_cast<float>(overlap(one, take(c, i)));
    const bool better = v > best[i];
    to[i] = v;
    which[i] = better ? number : which[i];
    best[i] = better ? v : best[i];
  }
}
template <class N>
CG_INLINE bool any(int64_t n, const N* const* columns, const Box<N>& box, N limit, N edge) {
  const N* const c[] = {columns[0], columns[1], columns[2], columns[3], columns[4]};
  const Box<N> one = box;
  std::conditional_t<sizeof(N) == 4, int32_t, int64_t> hit = 0;
  for (int64_t i = 0; i < n; ++i) hit |= overlap(take(c, i), one, edge) > limit;
  return hit;
}

}  // namespace

#define CG_OVERLAPS(N)                                                                                               \
  CG_SIMD CG_ROUNDED void overlaps(int64_t n, const N* const* columns, const Box<N>& one, N* to) {                   \
    all(n, columns, one, to);                                                                                        \
  }                                                                                                                  \
  CG_SIMD CG_ROUNDED bool overlaps(int64_t n, const N* const* columns, const Box<N>& one, N limit, N edge) {         \
    return any(n, columns, one, limit, edge);                                                                        \
  }                                                                                                                  \
  CG_SIMD CG_ROUNDED void overlaps(int64_t n, const N* const* columns, const Box<N>& one, int32_t number, float* to, \
                                   float* best, int32_t* which) {                                                    \
    most(n, columns, one, number, to, best, which);                                                                  \
  }
CG_OVERLAPS(float)
CG_OVERLAPS(double)
#undef CG_OVERLAPS

}  // namespace cg::detection
