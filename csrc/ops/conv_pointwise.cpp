// Convolutions with stride 1 and filters of one pixel, or along one axis, on the CPU, by kernels/pointwise.h.
#include "kernels/pointwise.h"
#include "ops/conv_arrays.h"

namespace cg {
namespace {

using kernels::Pointwise;

bool pointwise_exists(const Placement& p, at::IntArrayRef filters) {
  const size_t n = p.stride.size();
  for (size_t k = 0; k < n; ++k)
    if (p.stride[k] != 1 || (n > 1 && (filters[k + 2] != 1 || p.pad[k] != 0))) return false;
  return true;
}
Pointwise pointwise_sizes(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filters) {
  Pointwise s{image[0], image[1], map[1], c10::multiply_integers(map.slice(2)), c10::multiply_integers(image.slice(2))};
  if (p.stride.size() == 1) s.taps = filters[2], s.shift = -p.pad[0], s.step = p.dilate[0];
  return s;
}
bool fits(const Tensor& t, const Pointwise& s) { return has_floats(t) && kernels::pointwise_fits(s); }
// Of the convolution that computes the gradient of the image.
Pointwise turned(const Pointwise& s) { return {s.batch, s.out, s.in, s.image, s.places, s.taps, -s.shift, -s.step}; }
Tensor pointwise_product(const Pointwise& s, const Tensor& x, const Tensor& w, bool turned, const Tensor& b,
                         at::IntArrayRef shape, const Tensor& into) {
  const int64_t threads = kernels::most_threads();
  const auto compute = [&](const float* x, const float* w, const float* bias, float* y, float* memory) {
    kernels::pointwise(s, x, w, turned, bias, y, memory, threads);
  };
  return computed_from(x, w, b, shape, threads * kernels::pointwise_memory(s), compute, s.taps == 1 ? into : Tensor());
}
Tensor pointwise_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Pointwise s = pointwise_sizes(p, image.sizes(), map, w.sizes());
  return fits(image, s) ? pointwise_product(s, image, w, false, b, map, {}) : Tensor();
}
Tensor pointwise_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                       const Tensor& into) {
  const Pointwise s = turned(pointwise_sizes(p, image, map.sizes(), w.sizes()));
  return fits(map, s) ? pointwise_product(s, map, w, true, b, image, into) : Tensor();
}
Tensor pointwise_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const Pointwise s = pointwise_sizes(p, image.sizes(), map.sizes(), filters);
  if (!fits(map, s)) return {};
  return computed_from(image, map, filters, kernels::pointwise_grad_w_memory(s),
                       [&](auto... arrays) { kernels::pointwise_grad_w(s, arrays...); });
}

}  // namespace

const ConvolutionWay kPointwise{pointwise_exists, pointwise_map, pointwise_image, pointwise_filters};

}  // namespace cg
