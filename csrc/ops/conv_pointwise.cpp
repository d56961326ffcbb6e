#include "ops/conv_pointwise.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "kernels/pointwise.h"
#include "kernels/raw.h"

namespace cg {
namespace {

using kernels::Pointwise;

// The sizes of a convolution that multiplies the channels of each place by the same matrix; `image` and `filters` are
// shapes.
std::optional<Pointwise> one_pixel(const Placement& p, const Tensor& t, at::IntArrayRef image,
                                   at::IntArrayRef filters) {
  const size_t n = p.stride.size();
  if (p.groups != 1 || image.size() != n + 2 || filters.size() != n + 2 || image[1] != filters[1]) return {};
  if (t.scalar_type() != at::kFloat || !kernels::raw(t)) return {};
  for (size_t k = 0; k < n; ++k)
    if (filters[k + 2] != 1 || p.stride[k] != 1 || p.pad[k] != 0) return {};
  return Pointwise{image[0], image[1], filters[0], c10::multiply_integers(image.slice(2))};
}
bool is_map(at::IntArrayRef map, at::IntArrayRef image, int64_t channels) {
  return map.size() == image.size() && map[0] == image[0] && map[1] == channels && map.slice(2) == image.slice(2);
}
const float* data(const Tensor& t) { return t.const_data_ptr<float>(); }
Tensor product(const Pointwise& s, const Tensor& x, const Tensor& w, bool turned, const Tensor& b, const Tensor& into) {
  const Tensor from = x.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  Ints sizes = ints(x.sizes());
  sizes[1] = s.out;
  const Tensor y = into.defined() ? into : at::empty(sizes, from.options());
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
  const auto s = one_pixel(p, image, image.sizes(), w.sizes());
  if (!s || !kernels::pointwise_fits(*s) || !kernels::raw(image, w) || !takes_bias(b, image, s->out)) return {};
  return product(*s, image, w, false, b, {});
}
Tensor pointwise_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                       const Tensor& into) {
  const auto s = one_pixel(p, map, image, w.sizes());
  if (!s || !is_map(map.sizes(), image, s->out) || !kernels::raw(map, w) || !takes_bias(b, map, s->in)) return {};
  const Pointwise turned{s->batch, s->out, s->in, s->places};
  return kernels::pointwise_fits(turned) ? product(turned, map, w, true, b, into) : Tensor();
}
Tensor pointwise_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const auto s = one_pixel(p, map, image.sizes(), filters);
  if (!s || !is_map(map.sizes(), image.sizes(), s->out) || !kernels::raw(map, image)) return {};
  if (!kernels::pointwise_fits(*s)) return {};
  const Tensor x = image.contiguous(), gy = map.contiguous(), gw = at::empty(filters, gy.options());
  const Tensor memory = at::empty({kernels::pointwise_grad_w_memory(*s)}, gy.options());
  kernels::pointwise_grad_w(*s, data(x), data(gy), gw.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>());
  return gw;
}

}  // namespace cg
