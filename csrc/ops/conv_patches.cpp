// Transposed convolutions with filters of 4 x 4 that move by two, of few places or into few channels, on the CPU, by
// kernels/patches.h.
#include "kernels/patches.h"
#include "ops/conv_arrays.h"

namespace cg {
namespace {

bool patches_exist(const Placement& p, at::IntArrayRef filters) {
  if (filters.size() != 4 || filters[2] != 4 || filters[3] != 4) return false;
  for (size_t k = 0; k < 2; ++k)
    if (p.stride[k] != 2 || p.dilate[k] != 1 || p.pad[k] > 3) return false;
  return true;
}
Tensor patches_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                     const Tensor&) {
  const kernels::Patches s{
      image[0], image[1], map.size(1), {image[2], image[3]}, {map.size(2), map.size(3)}, {p.pad[0], p.pad[1]}};
  if (!has_floats(map) || !kernels::patches_fit(s)) return {};
  return computed_from(map, w, b, image, 0,
                       [&](const float* x, const float* filters, const float* bias, float* y, float*) {
                         kernels::patches(s, x, filters, bias, y);
                       });
}
Tensor no_map(const Placement&, const Tensor&, const Tensor&, const Tensor&, at::IntArrayRef) { return {}; }
Tensor no_filters(const Placement&, const Tensor&, const Tensor&, at::IntArrayRef) { return {}; }

}  // namespace

const ConvolutionWay kPatches{patches_exist, no_map, patches_image, no_filters};

}  // namespace cg
