#include "kernels/pool.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "kernels/lanes.h"
#include "kernels/raw.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

struct Shape {
  int64_t planes, in[3], out[3];
  Shape(const at::Tensor& image, const at::Tensor& map) : planes(image.size(0)) {
    for (int k = 0; k < 3; ++k) {
      in[k] = image.size(k + 1);
      out[k] = map.size(k + 1);
    }
  }
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }

  // Calls loop(shape with some of the planes, index of the first of them), in threads.
  template <class F>
  void each_part(F&& loop) const {
    in_threads(planes, kGrain / std::max<int64_t>(1, std::max(in_size(), out_size())) + 1,
               [&](int64_t from, int64_t to) {
                 Shape part = *this;
                 part.planes = to - from;
                 loop(part, from);
               });
  }
};

// The range of pooled positions along axis k whose windows are completely inside the image.
CG_INLINE void interior(const PoolWindow& w, const Shape& s, int k, int64_t& from, int64_t& to) {
  from = std::min(s.out[k], (w.pad[k] + w.stride[k] - 1) / w.stride[k]);
  const int64_t room = s.in[k] + w.pad[k] - w.ksize[k];
  to = room < 0 ? from : std::max(from, std::min(s.out[k], room / w.stride[k] + 1));
}

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
CG_INLINE void forward(const PoolWindow& w, const Shape& s, const T* x, T* rows, int64_t width, T* y, uint8_t* at) {
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

#define CG_FORWARD(NAME, K, S, T)                                                                                 \
  CG_SIMD void NAME(const PoolWindow& w, const Shape& s, const T* x, T* rows, int64_t width, T* y, uint8_t* at) { \
    forward<K, S>(w, s, x, rows, width, y, at);                                                                   \
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

// Calls visit(o, index of the pooled position, index in the plane or -1) for every pooled position of a plane.
template <class Visit>
CG_INLINE void each_position(const PoolWindow& w, const Shape& s, const uint8_t* positions, Visit&& visit) {
  int64_t offset[kMaxWindow];
  int64_t parts[kMaxWindow][3];
  const int64_t size = w.ksize[0] * w.ksize[1] * w.ksize[2];
  for (int64_t i = 0; i < size; ++i) {
    parts[i][0] = i / (w.ksize[1] * w.ksize[2]);
    parts[i][1] = i / w.ksize[2] % w.ksize[1];
    parts[i][2] = i % w.ksize[2];
    offset[i] = (parts[i][0] * s.in[1] + parts[i][1]) * s.in[2] + parts[i][2];
  }
  int64_t from[3], to[3];
  for (int k = 0; k < 3; ++k) interior(w, s, k, from[k], to[k]);
  int64_t i = 0;
  for (int64_t p = 0; p < s.planes; ++p)
    for (int64_t a = 0; a < s.out[0]; ++a)
      for (int64_t b = 0; b < s.out[1]; ++b) {
        const bool inside = a >= from[0] && a < to[0] && b >= from[1] && b < to[1];
        const int64_t start[3] = {a * w.stride[0] - w.pad[0], b * w.stride[1] - w.pad[1], -w.pad[2]};
        const int64_t base = p * s.in_size() + (start[0] * s.in[1] + start[1]) * s.in[2] + start[2];
        for (int64_t c = 0; c < s.out[2]; ++c, ++i) {
          const int64_t first = c * w.stride[2], at = positions[i];
          bool hit = inside && c >= from[2] && c < to[2];
          if (!hit) {
            hit = true;
            for (int k = 0; k < 3; ++k) {
              const int64_t q = start[k] + parts[at][k] + (k == 2 ? first : 0);
              hit &= q >= 0 && q < s.in[k];
            }
          }
          visit(i, hit ? base + first + offset[at] : -1);
        }
      }
}

// Pixels 2 c and 2 c + 1 get gy[c] if at[c] is `first` or `first` + 1, otherwise 0. Written as pairs (see `split`), and
// with masks, because compilers turn selects into branches.
CG_INLINE void put_pair(const float* gy, const uint8_t* at, int first, float* gx) {
  constexpr bool big = std::endian::native == std::endian::big;
  uint32_t bits;
  std::memcpy(&bits, gy, sizeof bits);
  const uint64_t low = bits & -static_cast<uint32_t>(*at == first + big);
  const uint64_t high = bits & -static_cast<uint32_t>(*at == first + !big);
  const uint64_t pair = low | high << 32;
  std::memcpy(gx, &pair, sizeof pair);
}
CG_INLINE void put_pair(const double* gy, const uint8_t* at, int first, double* gx) {
  gx[0] = *at == first ? *gy : 0.0;
  gx[1] = *at == first + 1 ? *gy : 0.0;
}

// Scatter for windows of 2 x 2 that tile the image: every pixel belongs to one window and is written once. Numbers
// written beyond a row are overwritten by the next row.
template <class T>
CG_INLINE void tiles(const Shape& s, const T* __restrict gy, const uint8_t* __restrict at, T* __restrict gx) {
  const int64_t width = s.in[2], n = s.out[2];
  const T* const gy_end = gy + s.planes * s.out_size();
  for (int64_t p = 0; p < s.planes; ++p) {
    T* const next = gx + s.in_size();
    for (int64_t b = 0; b < s.out[1]; ++b, gy += n, at += n)
      for (int j = 0; j < 2; ++j, gx += width) {
        int64_t c = 0;
        for (; c < n && gy_end - gy - c >= 2 * L + n; c += L)
#pragma GCC unroll 1
          for (int l = 0; l < L; ++l) put_pair(gy + c + l, at + c + l, 2 * j, gx + 2 * (c + l));
        for (; c < n; ++c) put_pair(gy + c, at + c, 2 * j, gx + 2 * c);
        if (width > 2 * n) gx[width - 1] = 0;
      }
    std::fill(gx, next, T(0));
    gx = next;
  }
}
CG_SIMD void tiles_of(const Shape& s, const float* gy, const uint8_t* at, float* gx) { tiles(s, gy, at, gx); }
CG_SIMD void tiles_of(const Shape& s, const double* gy, const uint8_t* at, double* gx) { tiles(s, gy, at, gx); }

}  // namespace

void max_pool(const PoolWindow& w, const at::Tensor& x, const at::Tensor& y, const at::Tensor& positions) {
  const Shape s(x, y);
  with_dtype(x, [&]<class T>(T) {
    // A padded row is long enough that sixteen windows starting at the last pooled position read inside it.
    const int64_t width = w.pad[2] + std::max(s.in[2], (s.out[2] + L) * w.stride[2] + w.ksize[2]);
    using F = void (*)(const PoolWindow&, const Shape&, const T*, T*, int64_t, T*, uint8_t*);
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
    s.each_part([&](const Shape& part, int64_t p) {
      std::vector<T> rows((s.in[0] * s.in[1] + 1) * width, -std::numeric_limits<T>::infinity());
      f(w, part, from + p * s.in_size(), rows.data(), width, to + p * s.out_size(), at + p * s.out_size());
    });
  });
}

void max_pool_scatter(const PoolWindow& w, const at::Tensor& gy, const at::Tensor& positions, const at::Tensor& gx) {
  with_dtype(gy, [&]<class T>(T) {
    const Shape s(gx, gy);
    const T* from = gy.const_data_ptr<T>();
    T* to = gx.data_ptr<T>();
    bool tiled = w.ksize[0] == 1 && s.in[0] == 1;
    for (int k = 1; k < 3; ++k)
      tiled &= w.ksize[k] == 2 && w.stride[k] == 2 && w.pad[k] == 0 && s.out[k] == s.in[k] / 2;
    const uint8_t* const at = positions.const_data_ptr<uint8_t>();
    s.each_part([&](const Shape& part, int64_t p) {
      const T* const gy = from + p * s.out_size();
      T* const gx = to + p * s.in_size();
      if (tiled) return tiles_of(part, gy, at + p * s.out_size(), gx);
      std::fill(gx, gx + part.planes * s.in_size(), T(0));
      each_position(w, part, at + p * s.out_size(), [=](int64_t i, int64_t j) {
        if (j >= 0) gx[j] += gy[i];
      });
    });
  });
}

void max_pool_gather(const PoolWindow& w, const at::Tensor& x, const at::Tensor& positions, const at::Tensor& y) {
  with_dtype(x, [&]<class T>(T) {
    const T* from = x.const_data_ptr<T>();
    T* to = y.data_ptr<T>();
    const Shape s(x, y);
    s.each_part([&](const Shape& part, int64_t p) {
      const T* const image = from + p * s.in_size();
      T* const map = to + p * s.out_size();
      each_position(w, part, positions.const_data_ptr<uint8_t>() + p * s.out_size(),
                    [=](int64_t i, int64_t j) { map[i] = j >= 0 ? image[j] : T(0); });
    });
  });
}

}  // namespace cg::kernels
