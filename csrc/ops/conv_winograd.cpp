// Convolutions with filters of 3 x 3 and stride 1 on the CPU, by kernels/winograd.h.
#include "kernels/winograd.h"
#include "ops/conv_arrays.h"

namespace cg {
namespace {

using kernels::Winograd;

bool winograd_exists(const Placement& p, at::IntArrayRef filters) {
  if (filters.size() != 4 || filters[2] != 3 || filters[3] != 3) return false;
  for (size_t k = 0; k < 2; ++k)
    if (p.stride[k] != 1 || p.dilate[k] != 1 || p.pad[k] > 2) return false;
  return true;
}
Winograd winograd_sizes(const Placement& p, at::IntArrayRef image, at::IntArrayRef map) {
  return {image[0], image[1], map[1], image[2], image[3], {p.pad[0], p.pad[1]}};
}
bool fits(const Tensor& t, const Winograd& s) { return has_floats(t) && kernels::winograd_fits(s); }
Tensor computed(const Winograd& s, const Tensor& x, const Tensor& w, bool turned, const Tensor& b, const Tensor& into) {
  // In place the kernel transforms whole images at a time. It may need more memory than a second gradient.
  int64_t size = kernels::winograd_memory(s, false);
  const int64_t in_place = into.defined() ? kernels::winograd_memory(s, true) : 0;
  const bool here = into.defined() && in_place - size <= into.numel();
  if (here) size = in_place;
  const auto compute = [&](const float* x, const float* w, const float* bias, float* y, float* memory) {
    kernels::winograd(s, x, w, turned, bias, y, memory);
  };
  return computed_from(x, w, b, {s.batch, s.out, s.out_height(), s.out_width()}, size, compute, here ? into : Tensor());
}

Tensor winograd_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Winograd s = winograd_sizes(p, image.sizes(), map);
  return fits(image, s) ? computed(s, image, w, false, b, {}) : Tensor();
}
Tensor winograd_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                      const Tensor& into) {
  const Winograd turned{image[0], map.size(1), image[1], map.size(2), map.size(3), {2 - p.pad[0], 2 - p.pad[1]}};
  if (!fits(map, turned)) return {};
  // Zeros beyond the map would be multiplied by a NaN of the filters, and so would numbers of other places of a tile.
  return if_finite(w).defined() ? computed(turned, map, w, true, b, into) : Tensor();
}
Tensor winograd_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const Winograd s = winograd_sizes(p, image.sizes(), map.sizes());
  if (!fits(map, s)) return {};
  return if_finite(computed_from(image, map, filters, kernels::winograd_grad_w_memory(s),
                                 [&](auto... arrays) { kernels::winograd_grad_w(s, arrays...); }));
}

}  // namespace

const ConvolutionWay kWinograd{winograd_exists, winograd_map, winograd_image, winograd_filters};

}  // namespace cg
