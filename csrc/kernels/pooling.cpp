#include "kernels/pooling_shape.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/lanes.h"
#include "kernels/raw.h"
#include "kernels/workspace.h"

namespace cg::kernels {
namespace {

using lanes::L;  // pooled positions at a time; rows are padded so that no scalar loop for a remainder is needed

// Splits 2 L numbers. Read as pairs, because compilers use scalar code at the end of a loop with stride 2.
CG_INLINE void split(const float* x, float* __restrict even, float* __restrict odd) {
#pragma GCC unroll 1
  for (int l = 0; l < L; ++l) {
    uint64_t pair;
    std::memcpy(&pair, x + 2 * l, sizeof pair);
    const uint32_t low = static_cast<uint32_t>(pair), high = static_cast<uint32_t>(pair >> 32);
    std::memcpy(even + l, &low, sizeof low);
    std::memcpy(odd + l, &high, sizeof high);
  }
  if constexpr (std::endian::native == std::endian::big)
    for (int l = 0; l < L; ++l) std::swap(even[l], odd[l]);
}
CG_INLINE void split(const double* x, double* __restrict even, double* __restrict odd) {
  for (int l = 0; l < L; ++l) {
    even[l] = x[2 * l];
    odd[l] = x[2 * l + 1];
  }
}

// The maxima of L windows; `row(i, j)` is where line j at depth i of the first window starts. K: the size of a window
// without depth, 0 for any; S: the stride along a row, 0 for any. No branch depends on the data, because such branches
// are unpredictable.
template <int K, int S, class T, class Row>
CG_INLINE void windows(const PoolWindow& w, T* __restrict best, int32_t* __restrict pos, Row&& row) {
  const int64_t stride = S ? S : w.stride[2];
  auto step = [](T v, int32_t at, T& best, int32_t& pos) {
    const bool take = (v > best) | (v != v);
    best = take ? v : best;
    pos = take ? at : pos;
  };
  if constexpr (K > 0) {
    // Column k of the windows is columns[j][k % S], starting at k / S.
    T parts[K][2][L + 1];
    const T* columns[K][2];
    for (int j = 0; j < K; ++j) {
      const T* line = columns[j][0] = row(0, j);
      if constexpr (S == 2) {
        split(line, parts[j][0], parts[j][1]);
        parts[j][0][L] = line[2 * L];
        columns[j][0] = parts[j][0];
        columns[j][1] = parts[j][1];
      }
    }
#pragma GCC unroll 1
    for (int l = 0; l < L; ++l) {
      T m = columns[0][0][l];
      int32_t at = 0;
      for (int j = 0; j < K; ++j)
        for (int k = 0; k < K; ++k) step(columns[j][k % S][l + k / S], j * K + k, m, at);
      best[l] = m;
      pos[l] = at;
    }
  } else {
    std::fill(best, best + L, -std::numeric_limits<T>::infinity());
    std::fill(pos, pos + L, 0);
    int32_t at = 0;
    for (int64_t i = 0; i < w.ksize[0]; ++i)
      for (int64_t j = 0; j < w.ksize[1]; ++j) {
        const T* line = row(i, j);
        for (int64_t k = 0; k < w.ksize[2]; ++k, ++at)
#pragma GCC unroll 1
          for (int l = 0; l < L; ++l) step(line[l * stride + k], at, best[l], pos[l]);
      }
  }
}

// `rows`: workspace for a plane with rows of length `width`, padded with -inf on both sides, and for a row of -inf
// after it. A plane is copied there if its windows reach beyond its rows, or if reading L windows at once would leave
// the tensor.
template <int K, int S, class T>
CG_INLINE void forward(const PoolWindow& w, const PoolShape& s, const T* x, T* rows, int64_t width, T* y, uint8_t* at) {
  const int64_t lines = s.in[0] * s.in[1];
  const bool reaches_out = w.pad[2] > 0 || (s.out[2] - 1) * w.stride[2] + w.ksize[2] > s.in[2];
  const T* const end = x + s.planes * s.in_size();
  const T* const outside = rows + lines * width;
  T* const last = y + s.planes * s.out_size() - L;
  for (int64_t p = 0; p < s.planes; ++p, x += s.in_size()) {
    const bool copied = reaches_out || end - x < s.in_size() + width;
    for (int64_t r = 0; copied && r < lines; ++r)
      std::memcpy(rows + r * width + w.pad[2], x + r * s.in[2], s.in[2] * sizeof(T));
    const T* const plane = copied ? rows : x;
    const int64_t pitch = copied ? width : s.in[2];
    for (int64_t a = 0; a < s.out[0]; ++a)
      for (int64_t b = 0; b < s.out[1]; ++b)
        for (int64_t c = 0; c < s.out[2]; c += L) {
          const int64_t from[2] = {a * w.stride[0] - w.pad[0], b * w.stride[1] - w.pad[1]};
          T best[L];
          int32_t pos[L];
          windows<K, S>(w, best, pos, [&](int64_t i, int64_t j) {
            const int64_t z = from[0] + i, y = from[1] + j;
            const bool inside = z >= 0 && z < s.in[0] && y >= 0 && y < s.in[1];
            return inside ? plane + (z * s.in[1] + y) * pitch + c * w.stride[2] : outside;
          });
          uint8_t narrow[L];
          for (int l = 0; l < L; ++l) narrow[l] = static_cast<uint8_t>(pos[l]);
          // Numbers written beyond the row are overwritten by the next row.
          const int64_t n = std::min<int64_t>(L, s.out[2] - c);
          if (y <= last) {
            std::memcpy(y, best, sizeof best);
            std::memcpy(at, narrow, sizeof narrow);
          } else {
            std::memcpy(y, best, n * sizeof(T));
            std::memcpy(at, narrow, n);
          }
          y += n;
          at += n;
        }
  }
}

#define CG_FORWARD(NAME, K, S, T)                                                                                     \
  CG_SIMD void NAME(const PoolWindow& w, const PoolShape& s, const T* x, T* rows, int64_t width, T* y, uint8_t* at) { \
    forward<K, S>(w, s, x, rows, width, y, at);                                                                       \
  }
CG_FORWARD(forward_2_2, 2, 2, float)
CG_FORWARD(forward_3_2, 3, 2, float)
CG_FORWARD(forward_3_1, 3, 1, float)
CG_FORWARD(forward_any, 0, 0, float)
CG_FORWARD(forward_2_2, 2, 2, double)
CG_FORWARD(forward_3_2, 3, 2, double)
CG_FORWARD(forward_3_1, 3, 1, double)
CG_FORWARD(forward_any, 0, 0, double)
#undef CG_FORWARD

}  // namespace

void max_pool(const PoolWindow& w, const at::Tensor& x, const at::Tensor& y, const at::Tensor& positions) {
  const PoolShape s(x, y);
  with_dtype(x, [&]<class T>(T) {
    // A padded row is long enough that sixteen windows starting at the last pooled position read inside it.
    const int64_t width = w.pad[2] + std::max(s.in[2], (s.out[2] + L) * w.stride[2] + w.ksize[2]);
    using F = void (*)(const PoolWindow&, const PoolShape&, const T*, T*, int64_t, T*, uint8_t*);
    F f = forward_any;
    if (w.ksize[0] == 1 && w.ksize[1] == w.ksize[2]) {
      const int64_t k = w.ksize[2], stride = w.stride[2];
      if (k == 2 && stride == 2) f = forward_2_2;
      if (k == 3 && stride == 2) f = forward_3_2;
      if (k == 3 && stride == 1) f = forward_3_1;
    }
    const T* const from = x.const_data_ptr<T>();
    T* const to = y.data_ptr<T>();
    uint8_t* const at = positions.data_ptr<uint8_t>();
    s.each_part([&](const PoolShape& part, int64_t p) {
      const int64_t numbers = (s.in[0] * s.in[1] + 1) * width;
      const Workspace<T> rows(numbers, false);
      std::fill_n(rows.get(), numbers, -std::numeric_limits<T>::infinity());
      f(w, part, from + p * s.in_size(), rows.get(), width, to + p * s.out_size(), at + p * s.out_size());
    });
  });
}

}  // namespace cg::kernels
