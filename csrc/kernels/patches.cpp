#include "kernels/patches.h"

#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/threads.h"
#include "kernels/workspace.h"

#if defined(CG_KERNEL_V4) && !defined(__clang__)
#include <immintrin.h>

namespace cg::kernels::patch {
namespace {

using lanes::L;  // places that are multiplied at a time

constexpr int kSide = 4, kNumbers = 16;  // of a filter, whose numbers fill one vector
constexpr int64_t kDepth = 64;           // channels of the map that are summed for all filters of a group in turn

// An item is computed by one thread: a group of channels and some rows of one or all images.
struct Task {
  Patches s;
  const float *map, *w, *bias;
  float* image;
  int64_t images, group, pieces;  // images and channels of an item, and parts of an image's rows

  int64_t groups() const { return (s.image_channels + group - 1) / group; }
  int64_t items() const { return s.batch / images * groups() * pieces; }
};

// y (16 places, 16 numbers of a filter) = the sums over k of x[k L + place] * w[k next_w + number]; with `add`, these
// sums are added to y. `keep`: the filters are in no near cache and are copied to `kept`; meanwhile cache lines from
// `ahead` on are fetched, `lines` of them from each row of w. Only every second line is asked for, because the
// processor fetches its neighbour by itself; a request for each would leave no buffers for other reads.
template <bool keep>
CG_V4_INLINE void multiply(const float* w, int64_t next_w, const float* x, int64_t depth, float* y, bool add,
                           const float* ahead, int64_t lines, float* kept) {
  __m512 sum[L];
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) sum[i] = _mm512_setzero_ps();
  for (int64_t k = 0; k < depth; ahead += next_w) {
    const int64_t end = std::min(depth, k + lines);
    for (const float* line = ahead; k < end; ++k, line += kNumbers) {
      if (keep && k % 2 == 0) __builtin_prefetch(line);
      const __m512 v = _mm512_loadu_ps(w + k * next_w);
      if constexpr (keep) _mm512_store_ps(kept + k * kNumbers, v);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) sum[i] = _mm512_fmadd_ps(_mm512_set1_ps(x[k * L + i]), v, sum[i]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) {
    if (add) sum[i] = _mm512_add_ps(sum[i], _mm512_loadu_ps(y + i * kNumbers));
    _mm512_storeu_ps(y + i * kNumbers, sum[i]);
  }
}

// Neighbouring places of the map are two rows or columns apart in the image. Two numbers of the patches fall on row or
// column 2 c + phase of the image: number `tap` of the patch at place c + shift, and number tap + 2 of the one before.
struct Phase {
  int64_t tap, shift;
  Phase(int64_t phase, int64_t pad) : tap((phase + pad) % 2), shift((phase + pad) / 2) {}
};
// Which number of each patch, along a row, a vector reads, and the place of its lane 0.
struct Read {
  int64_t tap, place;
  __mmask16 mask;  // the lanes whose places are in the map
  Read(int64_t number, int64_t first, int64_t width) : tap(number), place(first) {
    const auto below = [](int64_t n) { return (1u << std::clamp<int64_t>(n, 0, L)) - 1; };
    mask = static_cast<__mmask16>(below(width - place) & ~below(-place));
  }
};
CG_V4_INLINE void add(const Read (&reads)[4], const float* from, int64_t next, __m512 (&sum)[2]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 v = _mm512_maskz_loadu_ps(reads[i].mask, from + reads[i].tap * next + reads[i].place);
    sum[i / 2] = _mm512_add_ps(sum[i / 2], v);
  }
}
// Writes rows `top` to `bottom` - 1 of a channel of the image, at `image`, as the sums of its patches: an array of (16
// numbers, `next` places from row `low` of the map on).
CG_V4_INLINE void add_up(const Patches& s, const float* patches, int64_t next, int64_t low, int64_t top, int64_t bottom,
                         float bias, float* image) {
  const int64_t height = s.map[0], width = s.map[1];
  const Phase even(0, s.pad[1]), odd(1, s.pad[1]);
  const __m512 start = _mm512_set1_ps(bias);
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(L / 2));
  for (int64_t c = 0; 2 * c < s.image[1]; c += L) {
    const Read reads[4] = {{even.tap, c + even.shift, width},
                           {even.tap + 2, c + even.shift - 1, width},
                           {odd.tap, c + odd.shift, width},
                           {odd.tap + 2, c + odd.shift - 1, width}};
    const uint64_t all = (uint64_t(1) << std::min<int64_t>(2 * L, s.image[1] - 2 * c)) - 1;
    float* y = image + 2 * c;
    for (int64_t row = top; row < bottom; ++row, y += s.image[1]) {
      const Phase phase(row % 2, s.pad[0]);
      const int64_t place = row / 2 + phase.shift;
      __m512 sum[2] = {start, start};
      if (place < height) add(reads, patches + phase.tap * kSide * next + (place - low) * width, next, sum);
      if (place > 0 && place <= height)
        add(reads, patches + (phase.tap + 2) * kSide * next + (place - 1 - low) * width, next, sum);
      _mm512_mask_storeu_ps(y, static_cast<__mmask16>(all), _mm512_permutex2var_ps(sum[0], first, sum[1]));
      _mm512_mask_storeu_ps(y + L, static_cast<__mmask16>(all >> L), _mm512_permutex2var_ps(sum[0], second, sum[1]));
    }
  }
}

// y (vectors of places, channels, 16) = x (channels, `plane` places), of which `places` are copied.
CG_V4_INLINE void copy(const float* x, int64_t channels, int64_t plane, int64_t places, float* y) {
  for (int64_t k = 0; k < places; k += L) {
    const auto mask = static_cast<__mmask16>((1u << std::min<int64_t>(L, places - k)) - 1);
    for (int64_t c = 0; c < channels; ++c, y += L) _mm512_storeu_ps(y, _mm512_maskz_loadu_ps(mask, x + c * plane + k));
  }
}
// y (16, next) = the transposed matrices of x (next / 16, 16, 16).
CG_V4_INLINE void transpose(const float* x, int64_t next, float* y) {
  for (int64_t k = 0; k < next; k += L, x += L * L) {
    lanes::V v[L];
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) lanes::load(v[i], x + i * L);
    lanes::transpose(v);
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) lanes::store(y + i * next + k, v[i]);
  }
}

CG_V4 void compute(const Task& t, int64_t item) {
  const Patches& s = t.s;
  const int64_t piece = item % t.pieces, left = item / t.pieces % t.groups() * t.group;
  const int64_t right = std::min(s.image_channels, left + t.group),
                from_image = item / t.pieces / t.groups() * t.images;
  const int64_t top = s.image[0] * piece / t.pieces, bottom = s.image[0] * (piece + 1) / t.pieces;
  // the patches of these rows of the map reach the rows of the image from `top` to `bottom` - 1
  const int64_t low = std::max<int64_t>(0, (top + s.pad[0] - 2) / 2);
  const int64_t high = std::max(low, std::min(s.map[0], (bottom + 1 + s.pad[0]) / 2));
  const int64_t plane = s.map[0] * s.map[1], pixels = s.image[0] * s.image[1], places = (high - low) * s.map[1];
  const int64_t next = lanes::vectors(places) * L, next_w = s.image_channels * kNumbers, channels = s.map_channels;
  const int64_t of_image = kNumbers * next, of_channel = t.images * of_image;
  const Workspace<float> maps(t.images * channels * next, false), sums((right - left) * of_channel, false);
  const Workspace<float> turned(of_image, false);
  alignas(64) float kept[kDepth * kNumbers];
  for (int64_t n = 0; n < t.images; ++n)
    copy(t.map + (from_image + n) * channels * plane + low * s.map[1], channels, plane, places,
         maps.get() + n * channels * next);
  for (int64_t from = 0; from < channels; from += kDepth) {
    const int64_t end = std::min(channels, from + kDepth);
    for (int64_t c = left; c < right; ++c) {
      const float* const w = t.w + from * next_w + c * kNumbers;
      // the filters that are multiplied after this group
      const int64_t row = (c - left) * kDepth / t.group + (end < channels ? end : 0);
      const float* const ahead = t.w + row * next_w + (end < channels ? left : right) * kNumbers;
      float* y = sums.get() + (c - left) * of_channel;
      for (int64_t n = 0; n < t.images; ++n)
        for (int64_t k = 0; k < next; k += L, y += kNumbers * L) {
          const float* const x = maps.get() + (n * next + k) * channels + from * L;
          if (n == 0 && k == 0)
            multiply<true>(w, next_w, x, end - from, y, from > 0, ahead, t.group, kept);
          else
            multiply<false>(kept, kNumbers, x, end - from, y, from > 0, kept, kDepth, kept);
        }
    }
  }
  for (int64_t c = left; c < right; ++c)
    for (int64_t n = 0; n < t.images; ++n) {
      transpose(sums.get() + (c - left) * of_channel + n * of_image, next, turned.get());
      add_up(s, turned.get(), next, low, top, bottom, t.bias ? t.bias[c] : 0,
             t.image + ((from_image + n) * s.image_channels + c) * pixels + top * s.image[1]);
    }
}

}  // namespace
}  // namespace cg::kernels::patch

namespace cg::kernels {

// At few places steps.h transforms filters for about as long as it multiplies, and with few channels most of its
// vectors would be empty.
bool patches_fit(const Patches& s) {
  constexpr int64_t kPlaces = 64, kDeep = 16, kFewChannels = 4;
  if (simd_level() < 4 || s.map_channels < kDeep) return false;
  return s.batch * s.map[0] * s.map[1] <= kPlaces || s.image_channels <= kFewChannels;
}

void patches(const Patches& s, const float* map, const float* w, const float* bias, float* image) {
  constexpr int64_t kGroup = 64, kSums = 1 << 16, kTogether = 256;  // 256 kB of sums, and of the next filters
  const int64_t threads = most_threads(), plane = s.map[0] * s.map[1];
  patch::Task t{s, map, w, bias, image, s.batch * plane <= kTogether ? s.batch : 1, 0, 1};
  const int64_t share = (s.image_channels + threads - 1) / threads;
  t.group = std::clamp<int64_t>(kSums / (patch::kNumbers * t.images * plane), 1, std::min(kGroup, share));
  if (t.items() < threads) t.pieces = std::min(s.image[0], threads);
  each_item(t.items(), t, patch::compute);
}

}  // namespace cg::kernels
#else
namespace cg::kernels {

bool patches_fit(const Patches&) { return false; }
void patches(const Patches&, const float*, const float*, const float*, float*) {}

}  // namespace cg::kernels
#endif
