// Convolutions with filters of one pixel, or along one axis with stride 1, on the CPU, by kernels/pointwise.h.
#include "kernels/pointwise.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>

#include "ops/conv_arrays.h"

namespace cg {
namespace {

using kernels::Pointwise;

bool pointwise_exists(const Placement& p, at::IntArrayRef filters) {
  const size_t n = p.stride.size();
  if (n > 3) return false;
  for (size_t k = 0; k < n; ++k)
    if (n > 1 ? filters[k + 2] != 1 || p.pad[k] != 0 : p.stride[k] != 1) return false;
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
// Filters of one pixel that move by more than one meet some of the image's pixels: the product is one with these.
bool is_strided(const Placement& p) {
  return std::any_of(p.stride.begin(), p.stride.end(), [](int64_t stride) { return stride != 1; });
}
// Calls f(row of the image, row of the map, its length, stride) for each row of each channel's map; rows are distances
// from the beginning of the arrays, which are in C order.
template <class F>
void each_met_row(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, F&& f) {
  const size_t n = p.stride.size();
  std::array<int64_t, 3> from{1, 1, 1}, to{1, 1, 1}, stride{1, 1, 1};
  for (size_t k = 0; k < n; ++k)
    from[k + 3 - n] = image[k + 2], to[k + 3 - n] = map[k + 2], stride[k + 3 - n] = p.stride[k];
  kernels::in_threads(image[0] * image[1], 64, [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane)
      for (int64_t i = 0; i < to[0]; ++i)
        for (int64_t j = 0; j < to[1]; ++j)
          f(((plane * from[0] + i * stride[0]) * from[1] + j * stride[1]) * from[2],
            ((plane * to[0] + i) * to[1] + j) * to[2], to[2], stride[2]);
  });
}
Ints sizes_of_met(at::IntArrayRef image, at::IntArrayRef map) {
  Ints sizes(map.begin(), map.end());
  sizes[1] = image[1];
  return sizes;
}
// The pixels that the filters meet, as an image.
Tensor met(const Placement& p, const Tensor& image, at::IntArrayRef map) {
  const Tensor from = image.contiguous(), to = at::empty(sizes_of_met(image.sizes(), map), image.options());
  const float* const x = from.const_data_ptr<float>();
  float* const y = to.mutable_data_ptr<float>();
  each_met_row(p, image.sizes(), map, [&](int64_t row, int64_t place, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; ++k) y[place + k] = x[row + k * stride];
  });
  return to;
}
// An image with these pixels, and `b` elsewhere, of which there is one for each channel: zero unless it is defined.
Tensor image_with(const Placement& p, const Tensor& pixels, at::IntArrayRef image, const Tensor& b) {
  const Tensor y = b.defined() ? at::empty(image, pixels.options()) : at::zeros(image, pixels.options());
  Ints channels(image.size() - 1, 1);
  channels[0] = -1;
  if (b.defined()) y.copy_(b.view(channels).expand(image));
  const float* const x = pixels.const_data_ptr<float>();
  float* const to = y.mutable_data_ptr<float>();
  each_met_row(p, image, pixels.sizes(), [&](int64_t row, int64_t place, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; ++k) to[row + k * stride] = x[place + k];
  });
  return y;
}

Tensor pointwise_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  if (is_strided(p)) {
    const Pointwise s = pointwise_sizes(p, sizes_of_met(image.sizes(), map), map, w.sizes());
    return fits(image, s) ? pointwise_product(s, met(p, image, map), w, false, b, map, {}) : Tensor();
  }
  const Pointwise s = pointwise_sizes(p, image.sizes(), map, w.sizes());
  return fits(image, s) ? pointwise_product(s, image, w, false, b, map, {}) : Tensor();
}
Tensor pointwise_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                       const Tensor& into) {
  if (is_strided(p)) {
    const Ints sizes = sizes_of_met(image, map.sizes());
    const Pointwise s = turned(pointwise_sizes(p, sizes, map.sizes(), w.sizes()));
    return fits(map, s) ? image_with(p, pointwise_product(s, map, w, true, b, sizes, {}), image, b) : Tensor();
  }
  const Pointwise s = turned(pointwise_sizes(p, image, map.sizes(), w.sizes()));
  return fits(map, s) ? pointwise_product(s, map, w, true, b, image, into) : Tensor();
}
Tensor pointwise_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const bool strided = is_strided(p);
  const Ints sizes =
      strided ? sizes_of_met(image.sizes(), map.sizes()) : Ints(image.sizes().begin(), image.sizes().end());
  const Pointwise s = pointwise_sizes(p, sizes, map.sizes(), filters);
  if (!fits(map, s)) return {};
  return computed_from(strided ? met(p, image, map.sizes()) : image, map, filters, kernels::pointwise_grad_w_memory(s),
                       [&](auto... arrays) { kernels::pointwise_grad_w(s, arrays...); });
}

}  // namespace

const ConvolutionWay kPointwise{pointwise_exists, pointwise_map, pointwise_image, pointwise_filters};

}  // namespace cg
