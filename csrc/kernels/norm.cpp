#include "kernels/norm.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

struct Layout {
  int64_t outer, channels, inner;
};
struct Range {
  int64_t from, to;  // channels
};
// Calls loop(range) for parts of the channels. A channel is computed by one thread, so that its sums are the same with
// any number of threads.
template <class F>
void each_range(const Layout& s, F&& loop) {
  in_threads(s.channels, kGrain / std::max<int64_t>(1, s.outer * s.inner) + 1,
             [&](int64_t from, int64_t to) { loop(Range{from, to}); });
}

// Loops run over the channels if these are adjacent in memory, otherwise over the elements of a channel.
template <class T>
CG_INLINE void statistics(const Layout& s, const Range& part, const T* x, double* mean, double* var) {
  const double scale = 1.0 / (s.outer * s.inner);
  std::fill(mean + part.from, mean + part.to, 0.0);
  std::fill(var + part.from, var + part.to, 0.0);
  if (s.inner == 1) {
    for (int64_t n = 0; n < s.outer; ++n) {
      const T* row = x + n * s.channels;
      CG_IVDEP
      for (int64_t c = part.from; c < part.to; ++c) mean[c] += row[c];
    }
    for (int64_t c = part.from; c < part.to; ++c) mean[c] *= scale;
    for (int64_t n = 0; n < s.outer; ++n) {
      const T* row = x + n * s.channels;
      CG_IVDEP
      for (int64_t c = part.from; c < part.to; ++c) var[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
    }
  } else {
    for (int64_t n = 0; n < s.outer; ++n)
      for (int64_t c = part.from; c < part.to; ++c) {
        const T* run = x + (n * s.channels + c) * s.inner;
        mean[c] += simd::sum<T>(s.inner, [=](int64_t i) __attribute__((always_inline)) { return run[i]; });
      }
    for (int64_t c = part.from; c < part.to; ++c) mean[c] *= scale;
    for (int64_t n = 0; n < s.outer; ++n)
      for (int64_t c = part.from; c < part.to; ++c) {
        const T* run = x + (n * s.channels + c) * s.inner;
        const T m = static_cast<T>(mean[c]);
        var[c] += simd::sum<T>(s.inner,
                               [=](int64_t i) __attribute__((always_inline)) { return (run[i] - m) * (run[i] - m); });
      }
  }
  for (int64_t c = part.from; c < part.to; ++c) var[c] *= scale;
}

template <class T>
CG_INLINE void apply(const Layout& s, const Range& part, const T* __restrict x, const T* __restrict mean,
                     const T* __restrict inv_std, const T* __restrict gamma, const T* __restrict beta,
                     T* __restrict y) {
  for (int64_t n = 0; n < s.outer; ++n) {
    if (s.inner == 1) {
      const int64_t row = n * s.channels;
      CG_IVDEP
      for (int64_t c = part.from; c < part.to; ++c)
        y[row + c] = (x[row + c] - mean[c]) * inv_std[c] * gamma[c] + beta[c];
      continue;
    }
    for (int64_t c = part.from; c < part.to; ++c) {
      const int64_t run = (n * s.channels + c) * s.inner;
      const T m = mean[c], a = inv_std[c] * gamma[c], b = beta[c];
      CG_IVDEP
      for (int64_t i = 0; i < s.inner; ++i) y[run + i] = (x[run + i] - m) * a + b;
    }
  }
}

// Sums of gy and of gy (x - mean) over each channel.
template <class T>
CG_INLINE void sums(const Layout& s, const Range& part, const T* x, const T* gy, const T* mean, double* g, double* gd) {
  std::fill(g + part.from, g + part.to, 0.0);
  std::fill(gd + part.from, gd + part.to, 0.0);
  for (int64_t n = 0; n < s.outer; ++n) {
    if (s.inner == 1) {
      const T *const row = x + n * s.channels, *const grow = gy + n * s.channels;
      CG_IVDEP
      for (int64_t c = part.from; c < part.to; ++c) {
        g[c] += grow[c];
        gd[c] += grow[c] * (row[c] - mean[c]);
      }
      continue;
    }
    for (int64_t c = part.from; c < part.to; ++c) {
      const T *const run = x + (n * s.channels + c) * s.inner, *const grun = gy + (n * s.channels + c) * s.inner;
      const T m = mean[c];
      g[c] += simd::sum<T>(s.inner, [=](int64_t i) __attribute__((always_inline)) { return grun[i]; });
      gd[c] += simd::sum<T>(s.inner, [=](int64_t i) __attribute__((always_inline)) { return grun[i] * (run[i] - m); });
    }
  }
}

// gx = a gy - b (x - mean) - c, with a, b, c per channel. gx may be gy.
template <class T>
CG_INLINE void combine(const Layout& s, const Range& part, const T* x, const T* gy, const T* mean, const T* a,
                       const T* b, const T* k, T* gx) {
  for (int64_t n = 0; n < s.outer; ++n) {
    if (s.inner == 1) {
      const int64_t row = n * s.channels;
      CG_IVDEP
      for (int64_t c = part.from; c < part.to; ++c)
        gx[row + c] = a[c] * gy[row + c] - b[c] * (x[row + c] - mean[c]) - k[c];
      continue;
    }
    for (int64_t c = part.from; c < part.to; ++c) {
      const int64_t run = (n * s.channels + c) * s.inner;
      const T m = mean[c], ac = a[c], bc = b[c], kc = k[c];
      CG_IVDEP
      for (int64_t i = 0; i < s.inner; ++i) gx[run + i] = ac * gy[run + i] - bc * (x[run + i] - m) - kc;
    }
  }
}

#define CG_NORM(T)                                                                                                \
  CG_SIMD void statistics_of(const Layout& s, const Range& part, const T* x, double* mean, double* var) {         \
    statistics(s, part, x, mean, var);                                                                            \
  }                                                                                                               \
  CG_SIMD void apply_to(const Layout& s, const Range& part, const T* x, const T* mean, const T* inv_std,          \
                        const T* gamma, const T* beta, T* y) {                                                    \
    apply(s, part, x, mean, inv_std, gamma, beta, y);                                                             \
  }                                                                                                               \
  CG_SIMD void sums_of(const Layout& s, const Range& part, const T* x, const T* gy, const T* mean, double* g,     \
                       double* gd) {                                                                              \
    sums(s, part, x, gy, mean, g, gd);                                                                            \
  }                                                                                                               \
  CG_SIMD void combine_to(const Layout& s, const Range& part, const T* x, const T* gy, const T* mean, const T* a, \
                          const T* b, const T* k, T* gx) {                                                        \
    combine(s, part, x, gy, mean, a, b, k, gx);                                                                   \
  }
CG_NORM(float)
CG_NORM(double)
#undef CG_NORM

// A loop over the few elements of a channel takes longer to start than to run. Such elements count as channels of their
// own, whose parameters are repeated, and whose sums are added afterwards.
bool is_short(const Layout& s) {
  return s.inner > 1 && (s.inner < 16 || (s.inner < 64 && s.inner % simd::lanes)) && s.outer >= 4;
}
Layout flat(const Layout& s) { return {s.outer, s.channels * s.inner, 1}; }
template <class T>
std::vector<T> repeated(const Layout& s, const T* x) {
  std::vector<T> r(s.channels * s.inner);
  for (int64_t c = 0; c < s.channels; ++c) std::fill_n(r.begin() + c * s.inner, s.inner, x[c]);
  return r;
}

template <class T>
void find_statistics(const Layout& s, const T* x, double* mean, double* var) {
  if (!is_short(s)) return each_range(s, [&](const Range& part) { statistics_of(s, part, x, mean, var); });
  std::vector<double> means(s.channels * s.inner), vars(s.channels * s.inner);
  each_range(flat(s), [&](const Range& part) { statistics_of(flat(s), part, x, means.data(), vars.data()); });
  for (int64_t c = 0; c < s.channels; ++c) {
    const double *const m = means.data() + c * s.inner, *const v = vars.data() + c * s.inner;
    double total = 0, squares = 0;
    for (int64_t i = 0; i < s.inner; ++i) total += m[i];
    mean[c] = total / s.inner;
    for (int64_t i = 0; i < s.inner; ++i) squares += v[i] + (m[i] - mean[c]) * (m[i] - mean[c]);
    var[c] = squares / s.inner;
  }
}
template <class T>
void find_sums(const Layout& s, const T* x, const T* gy, const T* mean, double* g, double* gd) {
  if (!is_short(s)) return each_range(s, [&](const Range& part) { sums_of(s, part, x, gy, mean, g, gd); });
  std::vector<double> gs(s.channels * s.inner), gds(s.channels * s.inner);
  const std::vector<T> means = repeated(s, mean);
  each_range(flat(s), [&](const Range& part) { sums_of(flat(s), part, x, gy, means.data(), gs.data(), gds.data()); });
  for (int64_t c = 0; c < s.channels; ++c) {
    g[c] = std::accumulate(gs.begin() + c * s.inner, gs.begin() + (c + 1) * s.inner, 0.0);
    gd[c] = std::accumulate(gds.begin() + c * s.inner, gds.begin() + (c + 1) * s.inner, 0.0);
  }
}
// Calls loop(layout, range, parameters...), where each parameter has a number per channel of the layout.
template <class F, class... T>
void with_parameters(const Layout& s, F&& loop, const T*... parameters) {
  const auto call = [&](const Layout& l, auto... p) { each_range(l, [&](const Range& part) { loop(l, part, p...); }); };
  if (!is_short(s)) return call(s, parameters...);
  [&](const auto&... r) { call(flat(s), r.data()...); }(repeated(s, parameters)...);
}

}  // namespace

void batch_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, const at::Tensor& y,
                const at::Tensor& mean, const at::Tensor& inv_std, const at::Tensor& running_mean,
                const at::Tensor& running_var, double decay) {
  const Layout s{x.size(0), x.size(1), x.size(2)};
  with_dtype(x, [&]<class T>(T) {
    std::vector<double> m(s.channels), v(s.channels);
    find_statistics(s, x.const_data_ptr<T>(), m.data(), v.data());
    T *const pm = mean.data_ptr<T>(), *const pi = inv_std.data_ptr<T>();
    for (int64_t c = 0; c < s.channels; ++c) {
      pm[c] = static_cast<T>(m[c]);
      pi[c] = static_cast<T>(1 / std::sqrt(v[c] + eps));
    }
    if (running_mean.defined()) {
      const double count = static_cast<double>(s.outer * s.inner), adjust = count / std::max(count - 1, 1.0);
      T *const rm = running_mean.data_ptr<T>(), *const rv = running_var.data_ptr<T>();
      for (int64_t c = 0; c < s.channels; ++c) {
        rm[c] = static_cast<T>(rm[c] * decay + m[c] * (1 - decay));
        rv[c] = static_cast<T>(rv[c] * decay + v[c] * (1 - decay) * adjust);
      }
    }
    with_parameters(
        s,
        [&](const Layout& l, const Range& part, auto... p) {
          apply_to(l, part, x.const_data_ptr<T>(), p..., y.data_ptr<T>());
        },
        static_cast<const T*>(pm), static_cast<const T*>(pi), gamma.const_data_ptr<T>(), beta.const_data_ptr<T>());
  });
}

void batch_norm_grad(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& mean, const at::Tensor& inv_std,
                     const at::Tensor& gy, const at::Tensor& gx, const at::Tensor& ggamma, const at::Tensor& gbeta) {
  const Layout s{x.size(0), x.size(1), x.size(2)};
  with_dtype(x, [&]<class T>(T) {
    const T *const px = x.const_data_ptr<T>(), *const pg = gy.const_data_ptr<T>(), *const m = mean.const_data_ptr<T>();
    const T* const r = inv_std.const_data_ptr<T>();
    std::vector<double> g(s.channels), gd(s.channels);
    find_sums(s, px, pg, m, g.data(), gd.data());
    for (int64_t c = 0; c < s.channels; ++c) {
      if (ggamma.defined()) ggamma.data_ptr<T>()[c] = static_cast<T>(gd[c] * r[c]);
      if (gbeta.defined()) gbeta.data_ptr<T>()[c] = static_cast<T>(g[c]);
    }
    if (!gx.defined()) return;
    // gamma r (gy - mean(gy) - h mean(gy h)), h = (x - mean) r
    const T* const w = gamma.const_data_ptr<T>();
    const double scale = 1.0 / (s.outer * s.inner);
    std::vector<T> a(s.channels), b(s.channels), k(s.channels);
    for (int64_t c = 0; c < s.channels; ++c) {
      a[c] = w[c] * r[c];
      // In this order, because r * r * r is 0 for large standard deviations
      b[c] = static_cast<T>(gd[c] * scale * r[c] * r[c] * a[c]);
      k[c] = static_cast<T>(a[c] * g[c] * scale);
    }
    with_parameters(
        s, [&](const Layout& l, const Range& part, auto... p) { combine_to(l, part, px, pg, p..., gx.data_ptr<T>()); },
        m, static_cast<const T*>(a.data()), static_cast<const T*>(b.data()), static_cast<const T*>(k.data()));
  });
}

}  // namespace cg::kernels
