#include "kernels/tiles.h"

#include <algorithm>
#include <vector>

#include "kernels/simd.h"
#include "kernels/threads.h"

// The transformation is that of polynomials at 0, +-sqrt(1/2), +-sqrt(2) and infinity. Its rounding errors are a fifth
// of those at 0, +-1, +-2 and infinity, and as large as those of a sum over 64 channels.
namespace cg::kernels {
namespace {

constexpr int kSide = 6;                                                     // numbers below a tile in each direction
constexpr float kHalf = 0.70710678118654752f, kTwo = 1.4142135623730951f;    // the square roots
constexpr float kHalf3 = 0.35355339059327376f, kTwo3 = 2.8284271247461901f;  // and their third powers

// Six numbers at distance `step` (in lanes) from d to t.
CG_INLINE void take_line(const float (*d)[kTileLanes], float (*t)[kTileLanes], int from, int to) {
  CG_IVDEP
  for (int l = 0; l < kTileLanes; ++l) {
    const float d0 = d[0][l], d1 = d[from][l], d2 = d[2 * from][l], d3 = d[3 * from][l], d4 = d[4 * from][l],
                d5 = d[5 * from][l];
    const float p = d4 - 2 * d2, q = kHalf * (d3 - 2 * d1), r = d4 - 0.5f * d2, s = kTwo * (d3 - 0.5f * d1);
    t[0][l] = d0 - 2.5f * d2 + d4;
    t[to][l] = p + q;
    t[2 * to][l] = p - q;
    t[3 * to][l] = r + s;
    t[4 * to][l] = r - s;
    t[5 * to][l] = d1 - 2.5f * d3 + d5;
  }
}
// Six transformed numbers become four results.
CG_INLINE void give_line(const float (*m)[kTileLanes], float (*y)[kTileLanes], int from, int to) {
  CG_IVDEP
  for (int l = 0; l < kTileLanes; ++l) {
    const float m1 = m[from][l], m2 = m[2 * from][l], m3 = m[3 * from][l], m4 = m[4 * from][l];
    const float p = m1 + m2, q = m1 - m2, r = m3 + m4, s = m3 - m4;
    y[0][l] = m[0][l] + p + r;
    y[to][l] = kHalf * q + kTwo * s;
    y[2 * to][l] = 0.5f * p + 2 * r;
    y[3 * to][l] = kHalf3 * q + kTwo3 * s + m[5 * from][l];
  }
}

struct TilePlace {
  int64_t image, row, column;  // of the first result of a tile
};
CG_INLINE TilePlace place_of(const Tiles& t, int64_t tile) {
  const int64_t of_image = t.rows * t.columns, k = tile % of_image;
  return {tile / of_image, k / t.columns * kTileSide, k % t.columns * kTileSide};
}

CG_SIMD void take(const Tiles& t, const float* x, int64_t channels, int64_t from, int64_t begin, int64_t end,
                  int64_t count, float* v) {
  const std::vector<float> zeros(channels);
  const int64_t distance = count * channels;
  for (int64_t k = begin; k < end; ++k) {
    const TilePlace p = place_of(t, from + k);
    const float* source[kTaps];
    for (int i = 0; i < kSide; ++i)
      for (int j = 0; j < kSide; ++j) {
        const int64_t row = p.row - t.pad + i, column = p.column - t.pad + j;
        const bool inside = row >= 0 && row < t.height && column >= 0 && column < t.width;
        source[i * kSide + j] = inside ? x + ((p.image * t.height + row) * t.width + column) * channels : zeros.data();
      }
    for (int64_t c = 0; c < channels; c += kTileLanes) {
      alignas(64) float d[kTaps][kTileLanes], e[kTaps][kTileLanes];
      for (int i = 0; i < kTaps; ++i) std::memcpy(d[i], source[i] + c, sizeof d[i]);
      for (int i = 0; i < kSide; ++i) take_line(d + i * kSide, e + i * kSide, 1, 1);
      for (int j = 0; j < kSide; ++j) take_line(e + j, d + j, kSide, kSide);
      float* const to = v + k * channels + c;
      for (int i = 0; i < kTaps; ++i) std::memcpy(to + i * distance, d[i], sizeof d[i]);
    }
  }
}

CG_SIMD void give(const Tiles& t, const float* m, int64_t channels, int64_t from, int64_t begin, int64_t end,
                  int64_t count, const float* bias, bool add, bool rectify, float* y) {
  const int64_t distance = count * channels;
  const float low = rectify ? 0 : -INFINITY;
  for (int64_t k = begin; k < end; ++k) {
    const TilePlace p = place_of(t, from + k);
    const int64_t rows = std::min(kTileSide, t.out_height - p.row);
    const int64_t columns = std::min(kTileSide, t.out_width - p.column);
    float* const first = y + ((p.image * t.out_height + p.row) * t.out_width + p.column) * channels;
    for (int64_t c = 0; c < channels; c += kTileLanes) {
      alignas(64) float d[kTaps][kTileLanes], e[kTileSide * kSide][kTileLanes], b[kTileLanes] = {};
      const float* const source = m + k * channels + c;
      for (int i = 0; i < kTaps; ++i) std::memcpy(d[i], source + i * distance, sizeof d[i]);
      for (int j = 0; j < kSide; ++j) give_line(d + j, e + j, kSide, kSide);
      for (int i = 0; i < kTileSide; ++i) give_line(e + i * kSide, d + i * kTileSide, 1, 1);
      if (bias) std::memcpy(b, bias + c, sizeof b);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          float* const to = first + (i * t.out_width + j) * channels + c;
          float* const result = d[i * kTileSide + j];
          if (add) {
            CG_IVDEP
            for (int l = 0; l < kTileLanes; ++l) result[l] += to[l];
          }
          CG_IVDEP
          for (int l = 0; l < kTileLanes; ++l) {
            const float r = result[l] + b[l];
            to[l] = r < low ? low : r;  // NaN stays
          }
        }
    }
  }
}

}  // namespace

void take_tiles(const Tiles& t, const float* x, int64_t channels, int64_t from, int64_t to, float* v) {
  const int64_t count = to - from;
  in_threads(count, std::max<int64_t>(1, kGrain / (kTaps * channels)),
             [&](int64_t begin, int64_t end) { take(t, x, channels, from, begin, end, count, v); });
}

void give_tiles(const Tiles& t, const float* m, int64_t channels, int64_t from, int64_t to, const float* bias, bool add,
                bool rectify, float* y) {
  const int64_t count = to - from;
  in_threads(count, std::max<int64_t>(1, kGrain / (kTaps * channels)),
             [&](int64_t begin, int64_t end) { give(t, m, channels, from, begin, end, count, bias, add, rectify, y); });
}

}  // namespace cg::kernels
