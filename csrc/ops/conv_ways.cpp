#include "ops/conv_ways.h"

#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/map.h"

namespace cg {
namespace {

// In the order in which they are tried.
const ConvolutionWay* const kWays[] = {&kWinograd, &kPatches, &kSteps, &kPointwise, &kFewChannels, &kTaps, &kColumns};

// Whether the shapes are those of a convolution whose map has exactly the positions of the filter inside the image, all
// of at least one number.
bool shapes_fit(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filters) {
  const size_t n = p.stride.size();
  if (p.pad.size() != n || p.dilate.size() != n || image.size() != n + 2 || map.size() != n + 2 ||
      filters.size() != n + 2)
    return false;
  if (image[0] != map[0] || image[1] != filters[1] * p.groups || map[1] != filters[0] || map[1] % p.groups != 0)
    return false;
  if (image[0] < 1 || image[1] < 1 || map[1] < 1) return false;
  for (size_t k = 0; k < n; ++k)
    if (p.stride[k] < 1 || p.dilate[k] < 1 || p.pad[k] < 0 || map[k + 2] < 1 || filters[k + 2] < 1) return false;
  for (size_t k = 0; k < n; ++k)
    if (map[k + 2] != p.positions(k, image[k + 2], filters[k + 2])) return false;
  return true;
}
bool fit(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filters) {
  return p.groups == 1 && shapes_fit(p, image, map, filters);
}
bool takes_bias(const Tensor& b, const Tensor& x, int64_t channels) {
  return !b.defined() || (kernels::raw(b, x) && b.dim() == 1 && b.numel() == channels);
}
template <class F>
Tensor first(const Placement& p, at::IntArrayRef filters, F&& f) {
  for (const ConvolutionWay* way : kWays)
    if (way->exists(p, filters))
      if (Tensor r = f(*way); r.defined()) return r;
  return {};
}

}  // namespace

Tensor if_finite(const Tensor& t) {
  if (!kernels::raw(t) || !t.is_contiguous()) return std::isfinite(at::sum(t).item<float>()) ? t : Tensor();
  return kernels::with_dtype(t, [&]<class T>(T) {
    constexpr int64_t kLanes = 256;
    T sums[kLanes] = {};
    for (int64_t i = 0; i < t.numel(); i += kLanes)
      kernels::map_range(
          std::min(kLanes, t.numel() - i), sums, [](auto a, auto b) CG_EACH { return a + b; }, sums,
          t.const_data_ptr<T>() + i);
    return std::isfinite(std::accumulate(sums, sums + kLanes, T(0))) ? t : Tensor();
  });
}

bool only_shape(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b, at::IntArrayRef image,
                at::IntArrayRef map) {
  const auto like_x = [&](const Tensor& t) { return t.is_meta() && t.scalar_type() == x.scalar_type(); };
  const auto vector = [&] { return like_x(b) && b.dim() == 1 && b.numel() == (x.sizes() == map ? image : map)[1]; };
  return like_x(x) && like_x(w) && kernels::plain(x) && shapes_fit(p, image, map, w.sizes()) &&
         (!b.defined() || vector());
}

Tensor map_by_way(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  if (!fit(p, image.sizes(), map, w.sizes()) || !kernels::raw(image, w) || !takes_bias(b, image, map[1])) return {};
  return first(p, w.sizes(), [&](const ConvolutionWay& way) { return way.map(p, image, w, b, map); });
}
Tensor image_by_way(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                    const Tensor& into) {
  if (!fit(p, image, map.sizes(), w.sizes()) || !kernels::raw(map, w) || !takes_bias(b, map, image[1])) return {};
  return first(p, w.sizes(), [&](const ConvolutionWay& way) { return way.image(p, map, image, w, b, into); });
}
Tensor filters_by_way(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  if (!fit(p, image.sizes(), map.sizes(), filters) || !kernels::raw(map, image)) return {};
  return first(p, filters, [&](const ConvolutionWay& way) { return way.filters(p, map, image, filters); });
}
std::array<Tensor, 2> gradients_by_way(const Placement& p, const Tensor& map, const Tensor& image, const Tensor& w,
                                       std::array<bool, 2> wanted, const Tensor& into) {
  std::array<Tensor, 2> g;
  if (wanted[0] && wanted[1]) {
    if (!fit(p, image.sizes(), map.sizes(), w.sizes()) || !kernels::raw(map, image) || !kernels::raw(map, w)) return g;
    for (const ConvolutionWay* way : kWays) {
      if (!way->exists(p, w.sizes())) continue;
      const bool neither = !g[0].defined() && !g[1].defined();
      if (neither && way->both) g = way->both(p, map, image, w);
      if (!g[1].defined()) g[1] = way->filters(p, map, image, w.sizes());
      if (!g[0].defined()) g[0] = way->image(p, map, image.sizes(), w, {}, g[1].defined() ? into : Tensor());
    }
  } else if (wanted[0]) {
    g[0] = image_by_way(p, map, image.sizes(), w, {}, into);
  } else if (wanted[1]) {
    g[1] = filters_by_way(p, map, image, w.sizes());
  }
  return g;
}

}  // namespace cg
