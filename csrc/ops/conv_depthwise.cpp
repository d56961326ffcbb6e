#include "ops/conv_depthwise.h"

#include <ATen/Context.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>

#include "kernels/depthwise.h"
#include "kernels/raw.h"
#include "ops/axes.h"

namespace cg {
namespace {

kernels::Depthwise sizes_of(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filter) {
  kernels::Depthwise d{image[0], image[1], map[1] / image[1], {}, {}, {}, {}, {}, {}};
  for (size_t k = 0; k < 2; ++k) {
    d.image[k] = image[k + 2];
    d.map[k] = map[k + 2];
    d.filter[k] = filter[k + 2];
    d.stride[k] = p.stride[k];
    d.pad[k] = p.pad[k];
    d.dilate[k] = p.dilate[k];
  }
  return d;
}
template <class T>
const T* numbers(const Tensor& t) {
  return t.defined() ? t.const_data_ptr<T>() : nullptr;
}
Tensor in_order(const Tensor& t) { return t.defined() ? t.contiguous() : t; }

// Whether the kernels compute a convolution of these shapes, or a gradient of it, from the tensors `used`.
bool fits(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filter,
          at::ArrayRef<Tensor> used) {
  constexpr int64_t kFar = 1 << 10, kWide = 1 << 16;  // so that the workspace stays small
  if (image.size() != 4 || map.size() != 4 || filter.size() != 4) return false;
  if (p.stride.size() != 2 || p.pad.size() != 2 || p.dilate.size() != 2) return false;
  if (p.groups < 2 || image[1] != p.groups || filter[1] != 1 || filter[0] != map[1] || map[1] % p.groups) return false;
  if (image[0] != map[0] || image[0] < 1 || map[1] < 1) return false;
  for (size_t k = 0; k < 2; ++k) {
    const int64_t n = image[k + 2], taps = filter[k + 2];
    if (n < 1 || taps < 1 || map[k + 2] < 1 || n > kWide || map[k + 2] > kWide) return false;
    if (p.stride[k] < 1 || p.dilate[k] < 1 || p.pad[k] < 0 || p.pad[k] > kFar || p.stride[k] > kFar) return false;
    if (taps > kFar || p.dilate[k] > kFar || p.dilate[k] * taps > kFar) return false;
    if (map[k + 2] < p.positions(k, n, taps)) return false;
  }
  for (const Tensor& t : used) {
    if (!t.defined()) continue;
    if (!kernels::raw(t, used[0])) return false;
    if (!t.is_contiguous() && t.suggest_memory_format() != at::MemoryFormat::Contiguous) return false;
  }
  return true;
}

// Whether the kernels compute a result that fits, and not ATen, which may be faster. With deterministic algorithms they
// always do, because ATen then computes in one thread.
bool is_faster(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filter, const Tensor& t,
               bool grad_w) {
  return t.scalar_type() == at::kDouble || at::globalContext().deterministicAlgorithms() ||
         kernels::depthwise_is_faster(sizes_of(p, image, map, filter), grad_w);
}

bool in_two_dimensions(const Placement& p, const Tensor& x, at::IntArrayRef filter) {
  const bool lists = p.stride.size() == 2 && p.pad.size() == 2 && p.dilate.size() == 2;
  return lists && p.stride[0] > 0 && p.stride[1] > 0 && p.groups > 1 && x.dim() == 4 && filter.size() == 4;
}
bool is_bias(const Tensor& b, int64_t channels) { return !b.defined() || (b.dim() == 1 && b.numel() == channels); }

Tensor map_of(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Tensor x = image.contiguous(), filters = w.contiguous(), bias = in_order(b);
  const Tensor y = at::empty(map, x.options());
  kernels::with_dtype(x, [&]<class T>(T) {
    kernels::depthwise(sizes_of(p, x.sizes(), map, w.sizes()), x.const_data_ptr<T>(), filters.const_data_ptr<T>(),
                       numbers<T>(bias), y.data_ptr<T>());
  });
  return y;
}
Tensor image_of(const Placement& p, const Tensor& map, const Tensor& w, const Tensor& b, at::IntArrayRef image) {
  const Tensor g = map.contiguous(), filters = w.contiguous(), bias = in_order(b);
  const Tensor x = at::empty(image, g.options());
  kernels::with_dtype(g, [&]<class T>(T) {
    kernels::depthwise_grad_x(sizes_of(p, image, g.sizes(), w.sizes()), g.const_data_ptr<T>(),
                              filters.const_data_ptr<T>(), numbers<T>(bias), x.data_ptr<T>());
  });
  return x;
}
Tensor filter_of(const Placement& p, const Tensor& image, const Tensor& map, at::IntArrayRef filter) {
  const Tensor x = image.contiguous(), g = map.contiguous(), w = at::empty(filter, g.options());
  kernels::with_dtype(g, [&]<class T>(T) {
    kernels::depthwise_grad_w(sizes_of(p, x.sizes(), g.sizes(), filter), x.const_data_ptr<T>(), g.const_data_ptr<T>(),
                              w.data_ptr<T>());
  });
  return w;
}

}  // namespace

Tensor depthwise_convolution(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b,
                             const std::optional<Ints>& outsize) {
  if (!in_two_dimensions(p, x, w.sizes()) || !is_bias(b, w.size(0)) || (outsize && outsize->size() != 2)) return {};
  Ints map{x.size(0), w.size(0)};
  for (size_t k = 0; k < 2; ++k)
    map.push_back(std::max(p.positions(k, x.size(k + 2), w.size(k + 2)), outsize ? (*outsize)[k] : 0));
  if (!fits(p, x.sizes(), map, w.sizes(), {x, w, b}) || !is_faster(p, x.sizes(), map, w.sizes(), x, false)) return {};
  return map_of(p, x, w, b, map);
}

Tensor depthwise_deconvolution(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b,
                               const Ints& more) {
  if (!in_two_dimensions(p, x, w.sizes()) || !is_bias(b, p.groups) || more.size() != 2) return {};
  Ints image{x.size(0), p.groups};
  for (size_t k = 0; k < 2; ++k) image.push_back(p.touched(k, x.size(k + 2), w.size(k + 2)) + more[k]);
  if (!fits(p, image, x.sizes(), w.sizes(), {x, w, b}) || !is_faster(p, image, x.sizes(), w.sizes(), x, false))
    return {};
  return image_of(p, x, w, b, image);
}

Tensor depthwise_grad_w(const Placement& p, const Tensor& image, const Tensor& map, at::IntArrayRef filter) {
  if (!fits(p, image.sizes(), map.sizes(), filter, {image, map})) return {};
  return is_faster(p, image.sizes(), map.sizes(), filter, map, true) ? filter_of(p, image, map, filter) : Tensor();
}

bool depthwise_backward(const Placement& p, Ctx<Tensor>& c, at::IntArrayRef filter, bool transposed) {
  // Inputs that are not needed may be freed.
  const Tensor x = c.needs(1) ? c.in(0) : Tensor(), w = c.needs(0) ? shaped(c.in(1), filter) : Tensor();
  const Tensor& gy = c.gy();
  const at::IntArrayRef of_x = c.in_sizes(0), image = transposed ? gy.sizes() : of_x;
  const at::IntArrayRef map = transposed ? of_x : gy.sizes();
  if (!fits(p, image, map, filter, {gy, x, w})) return false;
  // Which of the gradients at::convolution computes. It has no positions beyond the image.
  bool by_at[2];
  for (int k = 0; k < 2; ++k) by_at[k] = c.needs(k) && !is_faster(p, image, map, filter, gy, k == 1);
  for (size_t k = 0; k < 2; ++k)
    if (p.positions(k, image[k + 2], filter[k + 2]) != map[k + 2]) by_at[0] = by_at[1] = false;
  std::array<Tensor, 2> at_grads;
  if (by_at[0] || by_at[1]) {
    const auto or_shape = [&](const Tensor& t, at::IntArrayRef sizes) {
      return t.defined() ? t : at::empty(sizes, gy.options());
    };
    Ints more(2, 0);
    for (size_t k = 0; transposed && k < 2; ++k) more[k] = image[k + 2] - p.touched(k, map[k + 2], filter[k + 2]);
    std::tie(at_grads[0], at_grads[1], std::ignore) =
        at::convolution_backward(gy, or_shape(x, of_x), or_shape(w, filter), {}, p.stride, p.pad, p.dilate, transposed,
                                 more, p.groups, {by_at[0], by_at[1], false});
  }
  c.grad(0, [&] {
    if (by_at[0]) return at_grads[0];
    return transposed ? map_of(p, gy, w, {}, of_x) : image_of(p, gy, w, {}, of_x);
  });
  c.grad(1, [&] {
    if (by_at[1]) return shaped(at_grads[1], c.in_sizes(1));
    return shaped(transposed ? filter_of(p, gy, x, filter) : filter_of(p, x, gy, filter), c.in_sizes(1));
  });
  return true;
}

}  // namespace cg
