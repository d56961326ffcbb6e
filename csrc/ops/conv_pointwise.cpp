#include "ops/conv_pointwise.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "kernels/few_channels.h"
#include "kernels/pointwise.h"
#include "kernels/raw.h"

namespace cg {
namespace {

using kernels::FewChannels;
using kernels::Pointwise;

// The sizes of a convolution of floats with stride 1 that has a filter of one pixel, or one axis of places; `image`,
// `map` and `filters` are shapes.
std::optional<Pointwise> sizes_of(const Placement& p, const Tensor& t, at::IntArrayRef image, at::IntArrayRef map,
                                  at::IntArrayRef filters) {
  const size_t n = p.stride.size();
  if (p.groups != 1 || image.size() != n + 2 || map.size() != n + 2 || filters.size() != n + 2) return {};
  if (image[0] != map[0] || image[1] != filters[1] || map[1] != filters[0]) return {};
  if (t.scalar_type() != at::kFloat || !kernels::raw(t)) return {};
  Pointwise s{image[0], image[1], map[1], c10::multiply_integers(map.slice(2)), c10::multiply_integers(image.slice(2))};
  for (size_t k = 0; k < n; ++k) {
    if (p.stride[k] != 1) return {};
    if (n > 1 && (filters[k + 2] != 1 || p.pad[k] != 0 || image[k + 2] != map[k + 2])) return {};
  }
  if (n == 1) {
    s.taps = filters[2], s.shift = -p.pad[0], s.step = p.dilate[0];
    if (s.places != s.image + 2 * p.pad[0] - s.step * (s.taps - 1)) return {};
  }
  return s;
}
// Of the convolution that computes the gradient of the image.
Pointwise turned(const Pointwise& s) { return {s.batch, s.out, s.in, s.image, s.places, s.taps, -s.shift, -s.step}; }
// The shape of the result of a convolution of `image`.
Ints map_shape(const Placement& p, at::IntArrayRef image, at::IntArrayRef filters) {
  Ints r = ints(image);
  if (image.size() != filters.size() || image.size() != p.stride.size() + 2) return r;
  r[1] = filters[0];
  for (size_t k = 0; k < p.stride.size(); ++k) r[k + 2] += 2 * p.pad[k] - p.dilate[k] * (filters[k + 2] - 1);
  return r;
}
// The sizes of a convolution of floats with two axes of images of few channels.
std::optional<FewChannels> few_sizes(const Placement& p, const Tensor& t, at::IntArrayRef image,
                                     at::IntArrayRef filters) {
  if (p.groups != 1 || p.stride.size() != 2 || image.size() != 4 || filters.size() != 4) return {};
  if (image[1] != filters[1] || t.scalar_type() != at::kFloat || !kernels::raw(t)) return {};
  FewChannels s{image[0], image[1], filters[0], image[2], image[3]};
  int64_t map[2];
  for (size_t k = 0; k < 2; ++k) {
    const int64_t room = image[k + 2] + 2 * p.pad[k] - filters[k + 2];
    if (p.dilate[k] != 1 || room < 0) return {};
    map[k] = room / p.stride[k] + 1;
    s.size[k] = filters[k + 2], s.stride[k] = p.stride[k], s.pad[k] = p.pad[k];
  }
  s.out_height = map[0], s.out_width = map[1];
  if (!kernels::few_channels_fits(s)) return {};
  return s;
}
const float* data(const Tensor& t) { return t.const_data_ptr<float>(); }
Tensor product(const Pointwise& s, const Tensor& x, const Tensor& w, bool turned, const Tensor& b,
               at::IntArrayRef shape, const Tensor& into) {
  const Tensor from = x.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  const Tensor y = into.defined() && s.taps == 1 ? into : at::empty(shape, from.options());
  const int threads = at::get_num_threads();
  const Tensor memory = at::empty({threads * kernels::pointwise_memory(s)}, from.options());
  kernels::pointwise(s, data(from), data(filters), turned, bias.defined() ? data(bias) : nullptr,
                     y.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>(), threads);
  return y;
}
bool takes_bias(const Tensor& b, const Tensor& x, int64_t channels) {
  return !b.defined() || (kernels::raw(b, x) && b.dim() == 1 && b.numel() == channels);
}

}  // namespace

Tensor pointwise_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b) {
  const Ints map = map_shape(p, image.sizes(), w.sizes());
  const auto s = sizes_of(p, image, image.sizes(), map, w.sizes());
  if (!s || !kernels::pointwise_fits(*s) || !kernels::raw(image, w) || !takes_bias(b, image, s->out)) return {};
  return product(*s, image, w, false, b, map, {});
}
Tensor pointwise_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                       const Tensor& into) {
  const auto s = sizes_of(p, map, image, map.sizes(), w.sizes());
  if (!s || !kernels::raw(map, w) || !takes_bias(b, map, s->in) || !kernels::pointwise_fits(turned(*s))) return {};
  return product(turned(*s), map, w, true, b, image, into);
}
Tensor pointwise_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const auto s = sizes_of(p, map, image.sizes(), map.sizes(), filters);
  if (!s || !kernels::raw(map, image) || !kernels::pointwise_fits(*s)) return {};
  const Tensor x = image.contiguous(), gy = map.contiguous(), gw = at::empty(filters, gy.options());
  const Tensor memory = at::empty({kernels::pointwise_grad_w_memory(*s)}, gy.options());
  kernels::pointwise_grad_w(*s, data(x), data(gy), gw.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>());
  return gw;
}

Tensor few_channels_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b) {
  const auto s = few_sizes(p, image, image.sizes(), w.sizes());
  if (!s || !kernels::raw(image, w) || !takes_bias(b, image, s->out)) return {};
  const Tensor from = image.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  const Tensor y = at::empty({s->batch, s->out, s->out_height, s->out_width}, from.options());
  const Tensor memory = at::empty({at::get_num_threads() * kernels::few_channels_memory(*s)}, from.options());
  kernels::few_channels(*s, data(from), data(filters), bias.defined() ? data(bias) : nullptr,
                        y.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>());
  return y;
}
Tensor few_channels_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const auto s = few_sizes(p, map, image.sizes(), filters);
  if (!s || !kernels::raw(map, image) ||
      map.sizes() != at::IntArrayRef({s->batch, s->out, s->out_height, s->out_width}))
    return {};
  const Tensor x = image.contiguous(), gy = map.contiguous(), gw = at::empty(filters, gy.options());
  const int threads = at::get_num_threads();
  const Tensor memory = at::empty({kernels::few_channels_grad_w_memory(*s, threads)}, gy.options());
  kernels::few_channels_grad_w(*s, data(x), data(gy), gw.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>(),
                               threads);
  return gw;
}

}  // namespace cg
