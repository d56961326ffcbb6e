#include "ops/conv_winograd.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include <cmath>

#include "kernels/raw.h"
#include "kernels/winograd.h"

namespace cg {
namespace {

using kernels::Winograd;

// The sizes of a convolution of floats that needs no more than the kernel can do; `image` and `filters` are shapes.
std::optional<Winograd> sizes_of(const Placement& p, const Tensor& t, at::IntArrayRef image, at::IntArrayRef filters) {
  if (image.size() != 4 || filters.size() != 4 || p.groups != 1 || p.stride.size() != 2 || p.pad.size() != 2) return {};
  if (filters[2] != 3 || filters[3] != 3 || image[1] != filters[1]) return {};
  for (size_t k = 0; k < 2; ++k)
    if (p.stride[k] != 1 || p.dilate[k] != 1 || p.pad[k] < 0 || p.pad[k] > 2) return {};
  if (t.scalar_type() != at::kFloat || !kernels::raw(t)) return {};
  return Winograd{image[0], image[1], filters[0], image[2], image[3], {p.pad[0], p.pad[1]}};
}
bool is_map(const Winograd& s, const Tensor& map) {
  return map.sizes() == at::IntArrayRef({s.batch, s.out, s.out_height(), s.out_width()});
}
const float* floats(const Tensor& t) { return t.const_data_ptr<float>(); }
bool fits_bias(const Tensor& b, const Tensor& x, int64_t channels) {
  return !b.defined() || (kernels::raw(b, x) && b.dim() == 1 && b.numel() == channels);
}
Tensor computed(const Winograd& s, const Tensor& x, const Tensor& w, bool turned, const Tensor& b, const Tensor& into) {
  const Tensor from = x.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  // In place the kernel transforms whole images at a time. It may need more memory than a second gradient.
  int64_t size = kernels::winograd_memory(s, false);
  const int64_t in_place = into.defined() ? kernels::winograd_memory(s, true) : 0;
  const bool here = into.defined() && in_place - size <= into.numel();
  if (here) size = in_place;
  const Tensor y = here ? into : at::empty({s.batch, s.out, s.out_height(), s.out_width()}, from.options());
  const Tensor memory = at::empty({size}, from.options());
  kernels::winograd(s, floats(from), floats(filters), turned, bias.defined() ? floats(bias) : nullptr,
                    y.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>());
  return y;
}

}  // namespace

Tensor winograd_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b) {
  const auto s = sizes_of(p, image, image.sizes(), w.sizes());
  if (!s || !kernels::winograd_fits(*s) || !kernels::raw(image, w) || !fits_bias(b, image, s->out)) return {};
  return computed(*s, image, w, false, b, {});
}
Tensor winograd_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                      const Tensor& into) {
  const auto s = sizes_of(p, map, image, w.sizes());
  if (!s || !is_map(*s, map) || !kernels::raw(map, w) || !fits_bias(b, map, s->in)) return {};
  const Winograd turned{s->batch, s->out, s->in, map.size(2), map.size(3), {2 - s->pad[0], 2 - s->pad[1]}};
  if (!kernels::winograd_fits(turned)) return {};
  return computed(turned, map, w, true, b, into);
}
Tensor winograd_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const auto s = sizes_of(p, map, image.sizes(), filters);
  if (!s || !is_map(*s, map) || !kernels::raw(map, image) || !kernels::winograd_fits(*s)) return {};
  const Tensor x = image.contiguous(), gy = map.contiguous(), gw = at::empty(filters, gy.options());
  const Tensor memory = at::empty({kernels::winograd_memory(*s, false)}, gy.options());
  kernels::winograd_grad_w(*s, floats(x), floats(gy), gw.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>());
  // A number of an image at its border does not reach all of a filter. The transforms add and subtract them all, so
  // that one that is not finite would.
  return std::isfinite(at::sum(gw).item<float>()) ? gw : Tensor();
}

}  // namespace cg
