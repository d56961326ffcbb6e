// The phases of planes for depthwise convolutions that move by two elements, on processors with AVX-512.
#pragma once
#include "kernels/depthwise_simd.h"

#if defined(CG_KERNEL_V4)
namespace cg::kernels::planes {
namespace {

// Copies a plane to the four phases of axes with step 2. May write up to a vector more after each row and phase.
template <class T>
CG_V4 void split_plane(const Plan& p, const Picks<T>& picks, const T* x, T* work) {
  using S = Simd<T>;
  constexpr int64_t n = S::lanes;
  const int64_t width = p.x.source;
  for (int64_t row = 0; row < p.y.source; ++row, x += width) {
    T* const to = work + p.phase(row % 2, 0) + row / 2 * p.pitch;
    for (int64_t c = 0; c < width; c += 2 * n) {
      const int64_t left = width - c;
      const auto a = S::load(first<T>(left), x + c), b = S::load(first<T>(left - n), x + c + n);
      S::store(to + c / 2, S::pick(a, b, picks.even));
      S::store(to + p.phase(0, 1) + c / 2, S::pick(a, b, picks.odd));
    }
  }
}
// Writes a plane of results from its four phases, at a distance of `size` from each other.
template <class T>
CG_V4 void join_plane(const Plan& p, const Picks<T>& picks, const T* phases, int64_t size, T* y) {
  using S = Simd<T>;
  constexpr int64_t n = S::lanes;
  const int64_t width = p.x.result;
  for (int64_t row = 0; row < p.y.result; ++row, y += width) {
    const T* const from = phases + row % 2 * 2 * size + row / 2 * p.pitch;
    for (int64_t c = 0; c < width; c += 2 * n) {
      const int64_t left = width - c;
      const auto a = S::load(from + c / 2), b = S::load(from + size + c / 2);
      S::store(first<T>(left), y + c, S::pick(a, b, picks.joined));
      if (left > n) S::store(first<T>(left - n), y + c + n, S::pick(a, b, picks.joined_after));
    }
  }
}

// The same for `planes` planes one after the other whose rows are a power of two of at most a vector, an even number of
// them. Each two vectors contain the same number of elements of all four phases.
template <class T>
CG_V4 void split_planes(const Plan& p, const Picks<T>& picks, const T* x, int64_t planes, T* work) {
  using S = Simd<T>;
  constexpr int64_t n = S::lanes;
  const int64_t numbers = planes * p.y.source * p.x.source;
  for (int64_t c = 0; c < numbers; c += 2 * n) {
    const auto a = S::load(first<T>(numbers - c), x + c), b = S::load(first<T>(numbers - c - n), x + c + n);
    for (int q = 0; q < 4; ++q) S::store(work + p.phase(q / 2, q % 2) + c / 4, S::pick(a, b, picks.split[q]));
  }
}
template <class T>
CG_V4 void join_planes(const Plan& p, const Picks<T>& picks, const T* phases, int64_t size, int64_t planes, T* y) {
  using S = Simd<T>;
  constexpr int64_t n = S::lanes;
  const int64_t numbers = planes * p.y.result * p.x.result;
  for (int64_t c = 0; c < numbers; c += 2 * n) {
    const T* const from = phases + c / 4;
    const auto even = S::pick(S::load(from), S::load(from + size), picks.joined);
    const auto odd = S::pick(S::load(from + 2 * size), S::load(from + 3 * size), picks.joined);
    S::store(first<T>(numbers - c), y + c, S::pick(even, odd, picks.low));
    S::store(first<T>(numbers - c - n), y + c + n, S::pick(even, odd, picks.high));
  }
}

}  // namespace
}  // namespace cg::kernels::planes
#endif
