#include "kernels/depthwise_padded.h"

#include "kernels/depthwise_copy.h"
#include "kernels/depthwise_width.h"
#include "kernels/threads.h"
#include "kernels/workspace.h"

namespace cg::kernels::planes {
namespace {

// Rows of results: where they read, in rows of `pitch`, and where they go, in rows of `line`.
template <class T>
struct Rows {
  int64_t count, n;
  const T* x;
  int64_t pitch;
  T* y;
  int64_t line;
};

// y = start + w[0] x[offset of tap 0] + ..., or y += the same sum, in blocks of B numbers, of which the last two of a
// row may overlap.
template <int B, int N, bool add, class T>
CG_INLINE void correlate(const Rows<T>& r, const Tap* taps, const T* w, T start) {
  const T* from[N];
  T weight[N];
  for (int k = 0; k < N; ++k) {
    from[k] = r.x + taps[k].offset;
    weight[k] = w[taps[k].element];
  }
  for (int64_t a = 0; a < r.count; ++a)
    in_blocks<B>(r.n, [&](int64_t c) __attribute__((always_inline)) {
      T* __restrict const y = r.y + a * r.line + c;
      const int64_t at = a * r.pitch + c;
      CG_IVDEP
#pragma GCC unroll 1
      for (int l = 0; l < B; ++l) {
        T s = add ? y[l] : start;
#pragma GCC unroll 16
        for (int k = 0; k < N; ++k) s += weight[k] * from[k][at + l];
        y[l] = s;
      }
    });
}
// The same for 3 x 3 elements whose rows are a row of x apart, for R rows at a time, which read each number once.
template <int B, int R, class T>
CG_INLINE void correlate_square(const Rows<T>& r, const Tap* taps, const T* w, T start) {
  const int64_t offset[3] = {taps[0].offset, taps[1].offset, taps[2].offset};
  T weight[9];
  for (int k = 0; k < 9; ++k) weight[k] = w[taps[k].element];
  for (int64_t a = 0; a + R <= r.count; a += R)
    in_blocks<B>(r.n, [&](int64_t c) __attribute__((always_inline)) {
      T* __restrict const y = r.y + a * r.line + c;
      const T* const x = r.x + a * r.pitch + c;
      CG_IVDEP
#pragma GCC unroll 1
      for (int l = 0; l < B; ++l) {
        T s[R];
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) s[i] = start;
#pragma GCC unroll 16
        for (int k = 0; k < R + 2; ++k)
#pragma GCC unroll 16
          for (int j = 0; j < 3; ++j) {
            const T v = x[k * r.pitch + offset[j] + l];
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i)
              if (k - i >= 0 && k - i < 3) s[i] += weight[3 * (k - i) + j] * v;
          }
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) y[i * r.line + l] = s[i];
      }
    });
}
template <int B, bool add, class T>
CG_INLINE int64_t some_taps(const Rows<T>& r, const Tap* taps, int64_t count, const T* w, T start) {
  if (count >= 9) return correlate<B, 9, add>(r, taps, w, start), 9;
  if (count >= 6) return correlate<B, 6, add>(r, taps, w, start), 6;
  if (count >= 4) return correlate<B, 4, add>(r, taps, w, start), 4;
  if (count >= 2) return correlate<B, 2, add>(r, taps, w, start), 2;
  return correlate<B, 1, add>(r, taps, w, start), 1;
}
template <int B, class T>
CG_INLINE void all_blocks(Rows<T> r, const Taps& taps, const T* w, T start, bool add) {
  const int64_t count = taps.list.size();
  if (taps.square && !add) {
    constexpr int R = 4;
    const int64_t rest = r.count % R;
    correlate_square<B, R>(r, taps.list.data(), w, start);
    r.x += (r.count - rest) * r.pitch;
    r.y += (r.count - rest) * r.line;
    r.count = rest;
    return correlate_square<B, 1>(r, taps.list.data(), w, start);
  }
  if (count == 0 && !add)
    for (int64_t a = 0; a < r.count; ++a) std::fill_n(r.y + a * r.line, r.n, start);
  for (int64_t k = 0; k < count;)
    k += add || k ? some_taps<B, true>(r, taps.list.data() + k, count - k, w, start)
                  : some_taps<B, false>(r, taps.list.data() + k, count - k, w, start);
}

template <int B, class T>
CG_INLINE void all_taps(Rows<T> r, const Taps& taps, const T* w, T start, bool add) {
  const int64_t count = taps.list.size();
  if (count != 9 && r.n % B) {
    Rows<T> last = r;
    r.n -= r.n % B;
    all_blocks<B>(r, taps, w, start, add);
    last.x += last.n - B;
    last.y += last.n - B;
    last.n = B;
    all_blocks<B>(last, taps, w, start, add);
  } else
    all_blocks<B>(r, taps, w, start, add);
}
// Some planes of results: sums over `sources` planes each.
template <class T>
struct Task {
  const Plan* plan;
  int64_t channels, sources;    // channels of results
  bool backwards;               // whether results are images
  int64_t multiplier, weights;  // weights: of a filter
  const T *x, *w, *bias;
  T* y;
  bool exact;  // whether all weights are finite

  int64_t source(int64_t channel, int64_t k) const {
    return backwards ? channel * multiplier + k : channel / multiplier;
  }
  int64_t filter(int64_t channel, int64_t k) const { return backwards ? channel * multiplier + k : channel; }
};

// A plane without the zeros around it, which infinite weights would turn into NaN.
template <class T>
void slowly(const Task<T>& t, int64_t channel, const T* x, T* y) {
  const Plan& p = *t.plan;
  const int64_t width = p.x.source;
  for (int64_t row = 0; row < p.y.result; ++row)
    for (int64_t column = 0; column < p.x.result; ++column) {
      T s = t.bias ? t.bias[channel] : T(0);
      for (int64_t k = 0; k < t.sources; ++k) {
        const T* const plane = x + t.source(channel, k) * p.y.source * width;
        const T* const w = t.w + t.filter(channel, k) * t.weights;
        for (const Term& u : p.y.terms[row % p.y.merge])
          for (const Term& v : p.x.terms[column % p.x.merge]) {
            const int64_t i = p.y.at(row / p.y.merge + u.shift, u.phase),
                          j = p.x.at(column / p.x.merge + v.shift, v.phase);
            if (i >= 0 && i < p.y.source && j >= 0 && j < width)
              s += w[u.element * p.width + v.element] * plane[i * width + j];
          }
      }
      y[row * p.x.result + column] = s;
    }
}

template <class T>
CG_INLINE void run(const Task<T>& t, int64_t begin, int64_t end, T* work, T* results) {
  const Plan& p = *t.plan;
  const int64_t in = p.y.source * p.x.source, out = p.y.result * p.x.result, size = p.band * p.pitch + L;
  const int64_t map_channels = t.backwards ? t.channels * t.sources : t.channels / t.multiplier;
  const bool direct = p.y.merge * p.x.merge == 1 && t.sources == 1 && p.x.result >= 4;
  const bool whole = p.band == p.y.count(0);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t channel = r % t.channels;
    const T* const x = t.x + r / t.channels * map_channels * in;
    T* const y = t.y + r * out;
    if (!t.exact && !finite(t.w + t.filter(channel, 0) * t.weights, t.sources * t.weights)) {
      slowly(t, channel, x, y);
      continue;
    }
    const T start = t.bias ? t.bias[channel] : T(0);
    for (int64_t first = 0; first < p.y.count(0); first += p.band) {
      const int64_t count = std::min(p.band, p.y.count(0) - first);
      for (int64_t k = 0; k < t.sources; ++k) {
        const T* const w = t.w + t.filter(channel, k) * t.weights;
        fill(p, x + t.source(channel, k) * in, first, count, 0, whole, work);
        for (int64_t q = 0; q < p.y.merge * p.x.merge; ++q) {
          Rows<T> rows{count, p.x.count(q % p.x.merge), work, p.pitch, results + q * size, p.pitch};
          if (direct) {
            rows.y = y + first * p.x.result;
            rows.line = p.x.result;
          } else if (rows.n < 4 || t.sources > 1) {
            rows.n = ((count - 1) * p.pitch + rows.n + L - 1) / L * L;
            rows.count = 1;
          }
          if (rows.n >= 16)
            all_taps<16>(rows, p.taps[q], w, start, k > 0);
          else if (rows.n >= 8)
            all_taps<8>(rows, p.taps[q], w, start, k > 0);
          else if (rows.n >= 4)
            all_taps<4>(rows, p.taps[q], w, start, k > 0);
        }
      }
      if (!direct) emit(p, results, size, first, count, y);
    }
  }
}
CG_SIMD void run_planes(const Task<float>& t, int64_t begin, int64_t end, float* work, float* results) {
  run(t, begin, end, work, results);
}
CG_SIMD void run_planes(const Task<double>& t, int64_t begin, int64_t end, double* work, double* results) {
  run(t, begin, end, work, results);
}

template <class T>
void compute(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y) {
  const int64_t weights = d.filter[0] * d.filter[1], maps = d.channels * d.multiplier;
  const int64_t numbers = kBytes / static_cast<int64_t>(sizeof(T));
  const Plan p = backwards ? Plan(planes::backwards(d, 0, true), planes::backwards(d, 1, true), d.filter[1], numbers, 1)
                           : Plan(forwards(d, 0, true), forwards(d, 1, true), d.filter[1], numbers, 1);
  const int64_t channels = backwards ? d.channels : maps, sources = backwards ? d.multiplier : 1;
  const Task<T> t{&p, channels, sources, backwards, d.multiplier, weights, x, w, bias, y, finite(w, maps * weights)};
  const int64_t cost = sources * (p.y.result * p.x.result / 4 + 16);
  in_threads(d.n * channels, std::max<int64_t>(1, kGrain / cost), [&](int64_t begin, int64_t end) {
    const Workspace<T> work(p.numbers() + p.taps.size() * (p.band * p.pitch + L));
    run_planes(t, begin, end, work.get(), work.get() + p.numbers());
  });
}
}  // namespace

template <class T>
void padded_planes(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y) {
  compute(d, backwards, x, w, bias, y);
}
template void padded_planes(const Depthwise&, bool, const float*, const float*, const float*, float*);
template void padded_planes(const Depthwise&, bool, const double*, const double*, const double*, double*);

}  // namespace cg::kernels::planes
