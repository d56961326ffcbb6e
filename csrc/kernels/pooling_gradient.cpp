// Gradients of max pooling, computed from the positions of the maxima (kernels/pooling.h).
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/lanes.h"
#include "kernels/pooling_shape.h"
#include "kernels/raw.h"

namespace cg::kernels {
namespace {

using lanes::L;

// The range of pooled positions along axis k whose windows are completely inside the image.
CG_INLINE void interior(const PoolWindow& w, const PoolShape& s, int k, int64_t& from, int64_t& to) {
  from = std::min(s.out[k], (w.pad[k] + w.stride[k] - 1) / w.stride[k]);
  const int64_t room = s.in[k] + w.pad[k] - w.ksize[k];
  to = room < 0 ? from : std::max(from, std::min(s.out[k], room / w.stride[k] + 1));
}

// Calls visit(o, index of the pooled position, index in the plane or -1) for every pooled position of a plane.
template <class Visit>
CG_INLINE void each_position(const PoolWindow& w, const PoolShape& s, const uint8_t* positions, Visit&& visit) {
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
CG_INLINE void tiles(const PoolShape& s, const T* __restrict gy, const uint8_t* __restrict at, T* __restrict gx) {
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
CG_SIMD void tiles_of(const PoolShape& s, const float* gy, const uint8_t* at, float* gx) { tiles(s, gy, at, gx); }
CG_SIMD void tiles_of(const PoolShape& s, const double* gy, const uint8_t* at, double* gx) { tiles(s, gy, at, gx); }

}  // namespace

void max_pool_scatter(const PoolWindow& w, const at::Tensor& gy, const at::Tensor& positions, const at::Tensor& gx) {
  with_dtype(gy, [&]<class T>(T) {
    const PoolShape s(gx, gy);
    const T* from = gy.const_data_ptr<T>();
    T* to = gx.data_ptr<T>();
    bool tiled = w.ksize[0] == 1 && s.in[0] == 1;
    for (int k = 1; k < 3; ++k)
      tiled &= w.ksize[k] == 2 && w.stride[k] == 2 && w.pad[k] == 0 && s.out[k] == s.in[k] / 2;
    const uint8_t* const at = positions.const_data_ptr<uint8_t>();
    s.each_part([&](const PoolShape& part, int64_t p) {
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
    const PoolShape s(x, y);
    s.each_part([&](const PoolShape& part, int64_t p) {
      const T* const image = from + p * s.in_size();
      T* const map = to + p * s.out_size();
      each_position(w, part, positions.const_data_ptr<uint8_t>() + p * s.out_size(),
                    [=](int64_t i, int64_t j) { map[i] = j >= 0 ? image[j] : T(0); });
    });
  });
}

}  // namespace cg::kernels
