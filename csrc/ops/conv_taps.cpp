// Convolutions of batches with small filters on the CPU, by kernels/taps.h.
#include "kernels/taps.h"
#include "ops/conv_arrays.h"

namespace cg {
namespace {

using kernels::Sought, kernels::Taps;

bool taps_exist(const Placement& p, at::IntArrayRef filters) {
  constexpr int64_t kMost = 64;
  return p.stride.size() == 2 && filters.size() == 4 && filters[2] * filters[3] <= kMost;
}
Taps taps_sizes(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef w) {
  Taps s{image[0], image[1], map[1], {}, {}, {}, {}, {}, {}};
  for (size_t k = 0; k < 2; ++k) {
    s.image[k] = image[k + 2], s.map[k] = map[k + 2], s.filter[k] = w[k + 2];
    s.stride[k] = p.stride[k], s.pad[k] = p.pad[k], s.dilate[k] = p.dilate[k];
  }
  return s;
}
bool fits(const Tensor& t, const Taps& s) { return has_floats(t) && kernels::taps_fit(s); }

Tensor taps_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Taps s = taps_sizes(p, image.sizes(), map, w.sizes());
  if (!fits(image, s)) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(image, w, b, map, kernels::taps_memory(s, Sought::map, threads),
                       [&](auto... arrays) { kernels::taps_map(s, arrays..., threads); });
}
Tensor taps_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                  const Tensor&) {
  const Taps s = taps_sizes(p, image, map.sizes(), w.sizes());
  if (!fits(map, s)) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(map, w, b, image, kernels::taps_memory(s, Sought::image, threads),
                       [&](auto... arrays) { kernels::taps_image(s, arrays..., threads); });
}
Tensor taps_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const Taps s = taps_sizes(p, image.sizes(), map.sizes(), filters);
  if (!fits(map, s)) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(image, map, filters, kernels::taps_memory(s, Sought::filters, threads),
                       [&](auto... arrays) { kernels::taps_filters(s, arrays..., threads); });
}

}  // namespace

const ConvolutionWay kTaps{taps_exist, taps_map, taps_image, taps_filters};

}  // namespace cg
