// Convolutions with filters of 4 x 4 that move by two, on the CPU, by kernels/steps.h.
#include "kernels/steps.h"
#include "ops/conv_arrays.h"

namespace cg {
namespace {

using kernels::Sought, kernels::Steps;

bool steps_exist(const Placement& p, at::IntArrayRef filters) {
  if (filters.size() != 4 || filters[2] != 4 || filters[3] != 4) return false;
  for (size_t k = 0; k < 2; ++k)
    if (p.stride[k] != 2 || p.dilate[k] != 1 || p.pad[k] > 3) return false;
  return true;
}
Steps steps_sizes(const Placement& p, at::IntArrayRef image, at::IntArrayRef map) {
  return {image[0], image[1], map[1], {image[2], image[3]}, {map[2], map[3]}, {p.pad[0], p.pad[1]}};
}
bool fits(const Tensor& t, const Steps& s, Sought sought) { return has_floats(t) && kernels::steps_fit(s, sought); }

Tensor steps_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Steps s = steps_sizes(p, image.sizes(), map);
  if (!fits(image, s, Sought::map)) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(image, w, b, map, kernels::steps_memory(s, Sought::map, threads),
                       [&](auto... arrays) { kernels::steps_map(s, arrays..., threads); });
}
Tensor steps_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                   const Tensor&) {
  const Steps s = steps_sizes(p, image, map.sizes());
  if (!fits(map, s, Sought::image)) return {};
  // The last tile of an odd side is partly empty, and zeros there would be multiplied by a NaN of the filters.
  if ((s.map[0] % 2 || s.map[1] % 2) && !if_finite(w).defined()) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(map, w, b, image, kernels::steps_memory(s, Sought::image, threads),
                       [&](auto... arrays) { kernels::steps_image(s, arrays..., threads); });
}
Tensor steps_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const Steps s = steps_sizes(p, image.sizes(), map.sizes());
  if (!fits(map, s, Sought::filters)) return {};
  const int64_t threads = kernels::most_threads(), memory = kernels::steps_memory(s, Sought::filters, threads);
  return if_finite(computed_from(image, map, filters, memory,
                                 [&](auto... arrays) { kernels::steps_filters(s, arrays..., threads); }));
}

}  // namespace

const ConvolutionWay kSteps{steps_exist, steps_map, steps_image, steps_filters};

}  // namespace cg
