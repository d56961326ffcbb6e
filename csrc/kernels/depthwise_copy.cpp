#include "kernels/depthwise_copy.h"

#include <cstring>

#include "kernels/depthwise_width.h"
#include "kernels/simd.h"

namespace cg::kernels::planes {
namespace {

template <int B, class T>
CG_INLINE void copy(const T* from, T* to) {
  T block[B];
  std::memcpy(block, from, sizeof block);
  std::memcpy(to, block, sizeof block);
}
template <int B, class T>
CG_INLINE void split(const T* from, T* __restrict even, T* __restrict odd) {
  T block[2 * B];
  std::memcpy(block, from, sizeof block);
  for (int l = 0; l < B; ++l) {
    even[l] = block[2 * l];
    odd[l] = block[2 * l + 1];
  }
}
template <int B, class T>
CG_INLINE void join(const T* even, const T* odd, T* to) {
  T block[2 * B];
  for (int l = 0; l < B; ++l) {
    block[2 * l] = even[l];
    block[2 * l + 1] = odd[l];
  }
  std::memcpy(to, block, sizeof block);
}

template <class T>
CG_INLINE void fill_rows(const Plan& p, const T* plane, int64_t first, int64_t count, int64_t k, bool clean, T* work) {
  const int64_t width = p.x.source, step = p.x.step;
  // The columns of the source that are read, and where they go: column c to element (c + pad) / step of its phase.
  const int64_t from = std::max<int64_t>(0, -p.x.pad), to = std::min(width, step * p.pitch - p.x.pad);
  const int64_t n = to - from;
  if (n <= 0) return;
  const auto each_row = [&](auto&& f) __attribute__((always_inline)) {
    for (int64_t i = 0; i < p.y.step; ++i)
      for (int64_t a = 0; a < count + p.y.reach; ++a) {
        const int64_t row = p.y.at(first + a, i);
        T* const line = work + p.phase(i, 0) + k * p.plane + a * p.pitch;
        if (row >= 0 && row < p.y.source) {
          f(plane + row * width + from, line);
        } else if (!clean) {
          for (int64_t j = 0; j < step; ++j) std::fill_n(line + p.phase(0, j), p.pitch, T(0));
        }
      }
  };
  if (step == 1) {
    const int64_t at = from + p.x.pad;
    by_width(n, [&](auto width) __attribute__((always_inline)) {
      constexpr int B = decltype(width)::value;
      each_row([&](const T* x, T* line) __attribute__((always_inline)) {
        in_blocks<B>(n, [&](int64_t c) __attribute__((always_inline)) { copy<B>(x + c, line + at + c); });
      });
    });
    return;
  }
  const auto place = [&](int64_t c) __attribute__((always_inline)) {
    const int64_t padded = from + c + p.x.pad;
    return p.phase(0, padded % step) + padded / step;
  };
  if (step == 2 && n > 1) {
    const int64_t even = place(0), odd = place(1), last = n % 2 ? place(n - 1) : -1;
    by_width(n / 2, [&](auto width) __attribute__((always_inline)) {
      constexpr int B = decltype(width)::value;
      each_row([&](const T* x, T* line) __attribute__((always_inline)) {
        in_blocks<B>(n / 2, [&](int64_t c) __attribute__((always_inline)) {
          split<B>(x + 2 * c, line + even + c, line + odd + c);
        });
        if (last >= 0) line[last] = x[n - 1];
      });
    });
    return;
  }
  each_row([&](const T* x, T* line) __attribute__((always_inline)) {
    for (int64_t c = 0; c < n && c < step; ++c) {
      T* to = line + place(c);
      for (int64_t b = c; b < n; b += step) *to++ = x[b];
    }
  });
}

template <class T>
CG_INLINE void emit_rows(const Plan& p, const T* phases, int64_t size, int64_t first, int64_t count, T* plane) {
  const int64_t n = p.x.result, merge = p.x.merge;
  const auto each_row = [&](auto&& f) __attribute__((always_inline)) {
    for (int64_t a = 0; a < count; ++a)
      for (int64_t q = 0; q < p.y.merge; ++q) {
        const int64_t row = p.y.merge * (first + a) + q;
        if (row < p.y.result) f(phases + q * merge * size + a * p.pitch, plane + row * n);
      }
  };
  if (merge == 1) {
    by_width(n, [&](auto width) __attribute__((always_inline)) {
      constexpr int B = decltype(width)::value;
      each_row([&](const T* from, T* y) __attribute__((always_inline)) {
        in_blocks<B>(n, [&](int64_t c) __attribute__((always_inline)) { copy<B>(from + c, y + c); });
      });
    });
  } else if (merge == 2 && n > 1) {
    by_width(n / 2, [&](auto width) __attribute__((always_inline)) {
      constexpr int B = decltype(width)::value;
      each_row([&](const T* from, T* y) __attribute__((always_inline)) {
        in_blocks<B>(n / 2,
                     [&](int64_t c) __attribute__((always_inline)) { join<B>(from + c, from + size + c, y + 2 * c); });
        if (n % 2) y[n - 1] = from[n / 2];
      });
    });
  } else {
    each_row([&](const T* from, T* y) __attribute__((always_inline)) {
      for (int64_t q = 0; q < merge; ++q)
        for (int64_t c = q, a = 0; c < n; c += merge, ++a) y[c] = from[q * size + a];
    });
  }
}

template <class T>
CG_INLINE void spread_rows(const Plan& p, const T* rows, int64_t count, T* to) {
  const int64_t n = p.x.result;
  by_width(n, [&](auto width) __attribute__((always_inline)) {
    constexpr int B = decltype(width)::value;
    for (int64_t a = 0; a < count; ++a)
      in_blocks<B>(n,
                   [&](int64_t c) __attribute__((always_inline)) { copy<B>(rows + a * n + c, to + a * p.pitch + c); });
  });
}

}  // namespace

#define CG_COPIES(T)                                                                                               \
  CG_SIMD void fill(const Plan& p, const T* plane, int64_t first, int64_t count, int64_t k, bool clean, T* work) { \
    fill_rows(p, plane, first, count, k, clean, work);                                                             \
  }                                                                                                                \
  CG_SIMD void emit(const Plan& p, const T* phases, int64_t size, int64_t first, int64_t count, T* plane) {        \
    emit_rows(p, phases, size, first, count, plane);                                                               \
  }                                                                                                                \
  CG_SIMD void spread(const Plan& p, const T* rows, int64_t count, T* to) { spread_rows(p, rows, count, to); }
CG_COPIES(float)
CG_COPIES(double)
#undef CG_COPIES

}  // namespace cg::kernels::planes
