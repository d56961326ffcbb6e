#include "kernels/depthwise_masked.h"

#include "kernels/depthwise_copy.h"
#include "kernels/depthwise_phases.h"
#include "kernels/workspace.h"

namespace cg::kernels {
#if defined(CG_KERNEL_V4)
namespace planes {
namespace {

template <class T>
void fill_phases(const Masked<T>& plan, const T* x, int64_t planes, T* work) {
  const Plan& p = plan.p;
  if (plan.even) return split_planes(p, plan.picks, x, planes, work);
  if (p.y.step == 2 && p.x.step == 2) return split_plane(p, plan.picks, x, work);
  fill(p, x, 0, p.rows, 0, true, work);
}
template <class T>
void emit_phases(const Masked<T>& plan, const T* phases, int64_t size, int64_t planes, T* y) {
  const Plan& p = plan.p;
  if (plan.even) return join_planes(p, plan.picks, phases, size, planes, y);
  if (p.y.merge == 2 && p.x.merge == 2) return join_plane(p, plan.picks, phases, size, y);
  emit(p, phases, size, 0, p.y.count(0), y);
}

// Results of one image for the channels [from, to).
template <class T>
struct Planes {
  const Masked<T>& plan;
  int64_t channels, multiplier, sources, weights;
  bool backwards;
  const T *w, *bias;

  void run(const T* x, int64_t from, int64_t to, T* work, T* results, T* y) const {
    const int64_t in = plan.p.y.source * plan.p.x.source, out = plan.p.y.result * plan.p.x.result, g = plan.group;
    const int64_t size = plan.vectors(g) * Masked<T>::lanes, phases = plan.reads.size();
    const bool whole = !plan.copied && !plan.merged && multiplier == 1;  // no copies, and sources like results
    for (int64_t c = from; c < to;) {
      const int64_t some = std::min(g, to - c);
      const auto& reads = some < g ? plan.rest : plan.reads;
      Filters<T> filters{w, bias ? bias + c : nullptr, weights, some, plan.size};
      Run<T> run{
          whole ? (to - c) / some : 1, plan.vectors(some), plan.last(some), x, some * in, y + c * out, some * out};
      for (int64_t k = 0; k < sources; ++k) {
        filters.w = w + (backwards ? c * multiplier + k : c) * weights;
        run.x = x + (backwards ? c * multiplier + k : c / multiplier) * in;
        if (plan.copied) {
          fill_phases(plan, run.x, some, work);
          run.x = work;
        }
        for (int64_t q = 0; q < phases; ++q) {
          if (plan.merged) run.y = results + q * size;
          if (some > 1)
            any_sums<false>(run, reads[q], filters, k > 0);
          else
            any_sums<true>(run, reads[q], filters, k > 0);
        }
      }
      if (plan.merged) emit_phases(plan, results, size, some, y + c * out);
      c += run.count * some;
    }
  }
};

template <class T>
bool sums(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y) {
  if (simd_level() < 4) return false;
  Axis along_y = backwards ? planes::backwards(d, 0, false) : forwards(d, 0, false);
  Axis along_x = backwards ? planes::backwards(d, 1, false) : forwards(d, 1, false);
  if (!Masked<T>::fits(along_y, along_x)) return false;
  const int64_t m = d.multiplier, channels = backwards ? d.channels : d.channels * m;
  const Masked<T> plan(std::move(along_y), std::move(along_x), d.filter[1], channels, m == 1);
  const Planes<T> planes{plan, channels, m, backwards ? m : 1, d.filter[0] * d.filter[1], backwards, w, bias};
  const Plan& p = plan.p;
  const int64_t in = p.y.source * p.x.source, out = p.y.result * p.x.result, lanes = Masked<T>::lanes;
  const int64_t x_step = (backwards ? d.channels * m : d.channels) * in, y_step = channels * out;
  // Channels at a time, so that threads can share an image.
  const int64_t numbers = plan.vectors(plan.group) * lanes, tile = plan.group * std::max<int64_t>(1, 16384 / numbers);
  const int64_t tiles = (channels + tile - 1) / tile, phases = plan.reads.size();
  const int64_t cost = tile / plan.group * planes.sources * (numbers / 4 + 8);
  in_threads(tiles * d.n, std::max<int64_t>(1, kGrain / cost), [&](int64_t begin, int64_t end) {
    const Workspace<T> memory(phases * numbers + Masked<T>::lanes + (plan.copied ? p.numbers() : 0));
    T *const results = memory.get(), *const work = results + phases * numbers + Masked<T>::lanes;
    for (int64_t u = begin; u < end; ++u) {
      const int64_t from = u % tiles * tile, to = std::min(from + tile, channels), image = u / tiles;
      planes.run(x + image * x_step, from, to, work, results, y + image * y_step);
    }
  });
  return true;
}

template <class T>
bool products(const Depthwise& d, const T* image, const T* map, T* w) {
  if (simd_level() < 4) return false;
  Axis along_y = forwards(d, 0, false), along_x = forwards(d, 1, false);
  if (!Masked<T>::fits(along_y, along_x)) return false;
  const int64_t channels = d.channels * d.multiplier, weights = d.filter[0] * d.filter[1];
  const Masked<T> plan(std::move(along_y), std::move(along_x), d.filter[1], channels, d.multiplier == 1);
  constexpr int64_t lanes = Masked<T>::lanes, kAdded = 64;  // vectors that are added in T, before sums in double
  const Plan& p = plan.p;
  const int64_t in = p.y.source * p.x.source, out = p.y.result * p.x.result;
  const int64_t numbers = plan.vectors(plan.group) * lanes, blocks = (channels + plan.group - 1) / plan.group;
  in_threads(blocks, std::max<int64_t>(1, kGrain / (d.n * (numbers / 4 + 16))), [&](int64_t begin, int64_t end) {
    const Workspace<T> memory(weights * lanes + (plan.copied ? p.numbers() : 0));
    T *const sums = memory.get(), *const work = sums + weights * lanes;
    std::vector<double> totals(weights * plan.group);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t channel = block * plan.group, some = std::min(plan.group, channels - channel);
      const Reads<T>& reads = some < plan.group ? plan.rest[0] : plan.reads[0];
      const int64_t taps = reads.elements.size();
      std::fill(totals.begin(), totals.end(), 0.0);
      Run<T> run{1, plan.vectors(some), plan.last(some), nullptr, d.channels * in, nullptr, channels * out};
      const int64_t most = std::max<int64_t>(1, kAdded / run.vectors);
      for (int64_t i = 0; i < d.n; i += most) {
        const int64_t images = std::min(most, d.n - i);
        const T* const x = image + i * run.x_step + channel / d.multiplier * in;
        run.y = const_cast<T*>(map) + i * run.y_step + channel * out;
        if (!plan.copied) {
          run.count = images;
          run.x = x;
          any_products(run, reads, some * in, some * out, sums);
        } else {
          for (int64_t k = 0; k < images; ++k, run.y += run.y_step) {
            fill_phases(plan, x + k * run.x_step, some, work);
            run.x = work;
            any_products(run, reads, 0, some * out, sums);
          }
        }
        add_lanes(sums, taps, some, plan.size, totals.data(), plan.group);
      }
      std::fill_n(w + channel * weights, some * weights, T(0));
      for (int64_t c = 0; c < some; ++c)
        for (int64_t k = 0; k < taps; ++k)
          w[(channel + c) * weights + reads.elements[k]] = static_cast<T>(totals[k * plan.group + c]);
    }
  });
  return true;
}

}  // namespace
}  // namespace planes

template <class T>
bool masked_planes(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y) {
  return planes::sums(d, backwards, x, w, bias, y);
}
template <class T>
bool masked_filters(const Depthwise& d, const T* image, const T* map, T* w) {
  return planes::products(d, image, map, w);
}
#else
template <class T>
bool masked_planes(const Depthwise&, bool, const T*, const T*, const T*, T*) {
  return false;
}
template <class T>
bool masked_filters(const Depthwise&, const T*, const T*, T*) {
  return false;
}
#endif
#define CG_MASKED(T)                                                                     \
  template bool masked_planes(const Depthwise&, bool, const T*, const T*, const T*, T*); \
  template bool masked_filters(const Depthwise&, const T*, const T*, T*);
CG_MASKED(float)
CG_MASKED(double)
#undef CG_MASKED

}  // namespace cg::kernels
