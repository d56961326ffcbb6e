#include "kernels/direct.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kernels/lanes.h"
#include "kernels/workspace.h"

#if CG_HAS_LANES
#include <immintrin.h>
#endif

namespace cg::kernels {
namespace {

using lanes::L, lanes::V;

// A strip of rows of a map, or several whole maps, and where its numbers are: in the images, or in copies with zeros
// around them.
struct Strips : Direct {
  int64_t rows, per_image, images;  // rows of a map in a strip, strips of an image; if that is 1, images in a strip
  int64_t channels, width;          // of the copy
  int64_t blocks, in_task;          // blocks of channels of the result, and how many a task computes of a strip
  bool copied;

  Strips(const Direct& d, int64_t threads) : Direct(d) {
    // so many that the rows that two strips copy take little time, and that large filters are seldom read from memory
    constexpr int64_t kPlaces = 128;
    rows = std::clamp<int64_t>(kPlaces / map[1], 1, map[0]);
    per_image = (map[0] + rows - 1) / rows;
    images = per_image == 1 ? std::clamp<int64_t>(kPlaces / (map[0] * map[1]), 1, batch) : 1;
    copied = factor || pad[0] || pad[1] || (channelwise && in % L);
    channels = channelwise ? lanes::vectors(in) * L : in;
    width = copied ? (map[1] - 1) * stride[1] + (filter[1] - 1) * dilate[1] + 1 : image[1];
    blocks = lanes::vectors(out * together);
    const int64_t tasks_of_strip = threads > 1 ? std::min((blocks + 1) / 2, (2 * threads - 1) / strips() + 1) : 1;
    in_task = (blocks + 2 * tasks_of_strip - 1) / (2 * tasks_of_strip) * 2;
  }
  int64_t strips() const { return (batch + images - 1) / images * per_image; }
  int64_t tasks_of_strip() const { return (blocks + in_task - 1) / in_task; }
  // How many numbers of a row of the filter lie one after the other in the image.
  static int64_t run_of(const Direct& d) { return d.dilate[1] == 1 ? d.filter[1] * d.in : d.in; }
  int64_t run() const { return run_of(*this); }
  int64_t pitch() const { return width * channels; }
  int64_t height() const { return (rows - 1) * stride[0] + (filter[0] - 1) * dilate[0] + 1; }
  int64_t next_image() const { return (copied ? height() : image[0]) * pitch(); }
};

#if CG_HAS_LANES
#define DIRECT_INLINE CG_V4_INLINE
using Pair = double __attribute__((aligned(4), may_alias));  // two floats

// A row of n numbers, changed before the convolution reads it.
DIRECT_INLINE void changed(const Strips& t, const float* x, int64_t n, int64_t period, float* y) {
  int64_t i = 0, k = 0;
  for (; i < n; i += L) {
    V v, f, a;
    const int64_t some = std::min<int64_t>(L, n - i);
    if (some == L)
      lanes::load(v, x + i);
    else
      v = (V)_mm512_maskz_loadu_ps((1u << some) - 1, x + i);
    lanes::load(f, t.factor + k), lanes::load(a, t.addend + k);
    v = v * f + a;
    if (t.rectify) v = v < 0 ? V{} : v;
    if (some == L)
      lanes::store(y + i, v);
    else
      _mm512_mask_storeu_ps(y + i, (1u << some) - 1, (__m512)v);
    k = k + L == period ? 0 : k + L;
  }
}
// The rows below a strip that begins at row `top` of image n's map.
CG_LANES void copy(const Strips& t, int64_t n, int64_t top, float* to) {
  const int64_t line = t.image[1] * t.in, left = t.pad[1] * t.channels, period = direct_period(t.in);
  const int64_t pixels = std::max<int64_t>(0, std::min(t.image[1], t.width - t.pad[1]));
  for (int64_t r = 0; r < t.height(); ++r, to += t.pitch()) {
    const int64_t row = top * t.stride[0] - t.pad[0] + r;
    if (row < 0 || row >= t.image[0]) {
      std::memset(to, 0, t.pitch() * sizeof(float));
      continue;
    }
    const float* from = t.x + (n * t.image[0] + row) * line;
    const int64_t end = std::min(t.pitch(), left + pixels * t.channels);
    std::memset(to, 0, std::min(left, t.pitch()) * sizeof(float));
    std::memset(to + end, 0, (t.pitch() - end) * sizeof(float));
    if (t.channels == t.in) {
      if (t.factor)
        changed(t, from, pixels * t.in, period, to + left);
      else
        std::memcpy(to + left, from, pixels * t.in * sizeof(float));
    } else {
      for (int64_t p = 0; p < pixels; ++p) {
        float* const pixel = to + left + p * t.channels;
        std::memcpy(pixel, from + p * t.in, t.in * sizeof(float));
        std::memset(pixel + t.in, 0, (t.channels - t.in) * sizeof(float));
      }
    }
  }
}

DIRECT_INLINE void activate(const Strips& t, V& v) {
  if (t.activation == Activation::relu) {
    v = v < 0 ? V{} : v;
  } else if (t.activation == Activation::clip) {
    v = v < t.low ? V{} + t.low : v;
    v = v > t.high ? V{} + t.high : v;
  } else if (t.activation == Activation::leaky) {
    v = v < 0 ? v * t.low : v;
  }
}
// The next numbers of an image, repeated.
template <int together>
DIRECT_INLINE V spread(const float* p) {
  if constexpr (together == 4) return (V)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
  if constexpr (together == 2) return (V)_mm512_castpd_ps(_mm512_set1_pd(*reinterpret_cast<const Pair*>(p)));
  return (V)_mm512_set1_ps(*p);
}
// The sums of sets of lanes, one after the other.
template <int together>
DIRECT_INLINE V gathered(V v) {
  __m512 m = (__m512)v;
  if constexpr (together > 1) m = _mm512_add_ps(m, _mm512_permute_ps(m, 0b10110001));
  if constexpr (together > 2) m = _mm512_add_ps(m, _mm512_permute_ps(m, 0b01001110));
  if constexpr (together == 2) m = _mm512_maskz_compress_ps(0x5555, m);
  if constexpr (together == 4) m = _mm512_maskz_compress_ps(0x1111, m);
  return (V)m;
}
// R places of N blocks of channels, of which `count` are results. together = 0: each channel has its own filter.
template <int R, int N, int together>
DIRECT_INLINE void places(const Strips& t, const float* const (&at)[R], int64_t block, int64_t count, float* y) {
  constexpr int64_t kChannels = L / (together ? together : 1);
  const int64_t taps = t.filter[0] * t.filter[1], depth = (together ? taps * t.in / together : taps) * L;
  const float* w = t.filters + block * depth;
  // sums of 256 vectors are added up, as in pairwise summation
  constexpr int64_t kTogether = 256;
  int64_t summed = 0;
  V sum[R][N], total[R][N] = {};
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) {
    V b;
    lanes::load(b, t.bias + (block + j) * L);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r][j] = b;
  }
  // numbers of a row of the filter lie one after the other in the image, too, unless it is dilated
  const int64_t run = t.run(), runs = t.filter[1] * t.in / run;
  for (int64_t i = 0; i < t.filter[0]; ++i)
    for (int64_t j = 0; j < (together ? runs : t.filter[1]); ++j) {
      const int64_t from = i * t.dilate[0] * t.pitch() + j * t.dilate[1] * t.channels;
      if constexpr (together == 0) {
        V f;
        lanes::load(f, w);
        w += L;
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          V v;
          lanes::load(v, at[r] + from + block * L);
          sum[r][0] += v * f;
        }
      } else {
        for (int64_t k = from; k < from + run;) {
          const int64_t end = std::min(from + run, k + kTogether * together);
          summed += end - k;
          for (; k < end; k += together, w += L) {
            V f[N];
#pragma GCC unroll 2
            for (int m = 0; m < N; ++m) lanes::load(f[m], w + m * depth);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
              const V v = spread<together>(at[r] + k);
#pragma GCC unroll 2
              for (int m = 0; m < N; ++m) sum[r][m] += v * f[m];
            }
          }
          if (summed < kTogether * together) continue;
          summed = 0;
          for (int r = 0; r < R; ++r)
            for (int m = 0; m < N; ++m) total[r][m] += sum[r][m], sum[r][m] = V{};
        }
      }
    }
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) {
    const int64_t first = (block + j) * kChannels, some = std::min<int64_t>(kChannels, t.out - first);
    const auto mask = static_cast<__mmask16>((1u << some) - 1);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      if (r < count) {
        float* const to = y + r * t.out + first;
        V v = gathered<together>(sum[r][j] + total[r][j]);
        if (t.added) v += (V)_mm512_maskz_loadu_ps(mask, t.added + (to - t.y));
        activate(t, v);
        _mm512_mask_storeu_ps(to, mask, (__m512)v);
      }
  }
}
template <int R, int N, int together>
DIRECT_INLINE void blocks(const Strips& t, int64_t block, int64_t n_rows, int64_t n_places, const float* from,
                          float* y) {
  int64_t column = 0, row = 0;
  const float *image = from, *line = from;
  for (int64_t p = 0; p < n_places; p += R, y += R * t.out) {
    const int64_t count = std::min<int64_t>(R, n_places - p);
    const float* at[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      at[r] = r < count ? line + column * t.stride[1] * t.channels : from;
      if (++column < t.map[1]) continue;
      column = 0, line += t.stride[0] * t.pitch();
      if (++row == n_rows) row = 0, line = image += t.next_image();
    }
    places<R, N, together>(t, at, block, count, y);
  }
}
// Some blocks of `images` maps from number n on, from row `top`.
template <int together>
DIRECT_INLINE void strip(const Strips& t, int64_t n, int64_t images, int64_t top, int64_t first, float* memory) {
  constexpr int R = 8;
  const int64_t n_rows = std::min(t.rows, t.map[0] - top), n_places = images * n_rows * t.map[1];
  const int64_t last = std::min(t.blocks, first + t.in_task);
  const float* from = memory;
  if (t.copied) {
    for (int64_t i = 0; i < images; ++i) copy(t, n + i, top, memory + i * t.next_image());
  } else {
    from = t.x + (n * t.image[0] + top * t.stride[0]) * t.pitch();
  }
  float* const y = t.y + (n * t.map[0] + top) * t.map[1] * t.out;
  int64_t b = first;
  if constexpr (together == 1)
    for (; b + 2 <= last; b += 2) blocks<R, 2, 1>(t, b, n_rows, n_places, from, y);
  for (; b < last; ++b) blocks<R, 1, together>(t, b, n_rows, n_places, from, y);
}
CG_LANES void tasks(const Strips& t, int64_t begin, int64_t end, float* memory) {
  for (int64_t task = begin; task < end; ++task) {
    const int64_t i = task / t.tasks_of_strip(), first = task % t.tasks_of_strip() * t.in_task;
    const int64_t n = i / t.per_image * t.images, top = i % t.per_image * t.rows;
    const int64_t images = std::min(t.images, t.batch - n);
    if (t.channelwise)
      strip<0>(t, n, images, top, first, memory);
    else if (t.together == 4)
      strip<4>(t, n, images, top, first, memory);
    else if (t.together == 2)
      strip<2>(t, n, images, top, first, memory);
    else
      strip<1>(t, n, images, top, first, memory);
  }
}
#else
void tasks(const Strips&, int64_t, int64_t, float*) {}
#endif

}  // namespace

int64_t direct_together(const Direct& d) {
  const int64_t run = Strips::run_of(d);
  for (const int64_t n : {4, 2})
    if (!d.channelwise && d.out * n <= L && run % n == 0) return n;
  return 1;
}
int64_t direct_period(int64_t channels) { return std::lcm<int64_t>(channels, L); }
bool direct_fits() { return lanes::available(); }
double direct_time(const Direct& d) {
  constexpr int64_t kCache = 1 << 19;             // numbers of filters that stay in a core's cache
  constexpr double kClocks = 2.55, kRead = 0.15;  // clocks in a nanosecond; nanoseconds to read a number
  const int64_t places = d.batch * d.map[0] * d.map[1], numbers = d.filter[0] * d.filter[1] * d.in;
  const int64_t together = direct_together(d), blocks = (d.out * together + L - 1) / L;
  const double of_pair = 8.0 * numbers + 50, of_single = std::floor(5.5 * numbers / together) + 45;
  const double clocks = (places + 7) / 8 * (blocks / 2 * of_pair + blocks % 2 * of_single);
  const int64_t strips = numbers * d.out > kCache ? (places + 127) / 128 : 1;  // each reads all filters
  return std::max(clocks / kClocks, static_cast<double>(strips * numbers * d.out) * kRead);
}

void direct(const Direct& d) {
  const Strips t(d, most_threads());
  const int64_t of_task = t.images * t.rows * t.map[1] * std::min(t.in_task * L, t.out) * t.filter[0] * t.filter[1] *
                          (t.channelwise ? 1 : t.in);
  in_threads(t.strips() * t.tasks_of_strip(), 8 * kGrain / std::max<int64_t>(1, of_task) + 1,
             [&](int64_t begin, int64_t end) {
               std::optional<Workspace<float>> memory;
               if (t.copied) memory.emplace(t.images * t.next_image(), false);
               tasks(t, begin, end, t.copied ? memory->get() : nullptr);
             });
}

}  // namespace cg::kernels
