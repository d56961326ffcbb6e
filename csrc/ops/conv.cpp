// Convolution, transposed convolution and the gradient of a filter, in 1 to 3 dimensions.
//
// The form <y, conv(x, w)> is linear in each of x, w and y, and the three ops are its gradients with respect to y, x
// and w. So the gradients of each op are the other two, to any order. "Image" means the larger side (x), "map" the
// smaller one (y).
#include <ATen/Parallel.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>

#include "kernels/raw.h"
#include "ops/axes.h"
#include "ops/conv_depthwise.h"
#include "ops/conv_ways.h"

namespace cg {
namespace {

// Input i if it is `saved`. Otherwise its data may be freed, and a tensor of its shape replaces it, because the kernel
// reads only the shape.
Tensor saved_or_shape(Ctx<Tensor>& c, size_t i, bool saved) {
  return saved ? c.in(i) : at::empty(c.in_sizes(i), c.gy().options());
}
// The gradient of a bias. The convolution kernels sum number by number, which is less precise than at::sum.
Tensor sum_over_positions(const Tensor& gy) { return at::sum(gy, all_but_channels(gy.dim())); }
// On the CPU the kernels copy a batch into another memory layout. Returns how many images to process at a time so that
// the copies stay small; 0 for all of them, as in a trace, which must serve any batch size. The kernels rearrange the
// filters for every part, so parts are larger where the filters are.
int64_t images_at_once(const Tensor& x, at::IntArrayRef map, const Tensor& w) {
  constexpr int64_t kBytes = 2 << 20, kFilters = 8;
  const int64_t n = x.size(0), item = static_cast<int64_t>(x.element_size());
  if (!x.is_cpu() || n < 2 || kernels::traced(x)) return 0;
  const int64_t bytes = (x.numel() + c10::multiply_integers(map)) * item;
  const int64_t parts = bytes / (kBytes * at::get_num_threads() + kFilters * w.numel() * item);
  return parts < 2 ? 0 : (n + parts - 1) / parts;
}
Mask saves_the_other(c10::ArrayRef<bool> needs) { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }
std::optional<Tensor> bias(const Tensor& b) { return b.defined() ? std::optional<Tensor>(b) : std::nullopt; }

// Without channels ATen raises an error in some cases and returns a result without channels in others.
void check_channels(const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() < 2 || x.size(1) > 0, "convolution: x of shape ", x.sizes(), " has no channels");
}
// With the last axis side by side in memory, also where axes of one number leave the order open.
Tensor in_plain_order(const Tensor& x) { return x.contiguous().flatten().view(x.sizes()); }
Var convolution(const Placement& p, const Var& x, const Var& w, Ints outsize);
Var deconvolution(const Placement& p, const Var& x, const Var& w, Ints outsize);
Var convolution_grad_w(const Placement& p, const Var& x, const Var& gy, Ints ksize);

struct Convolution : Placement {
  std::optional<Ints> outsize;  // number of positions of the filter; positions beyond the image read zeros
  static constexpr auto params() {
    return std::make_tuple(param("stride", &Convolution::stride), param("pad", &Convolution::pad),
                           param("dilate", &Convolution::dilate), param("groups", &Convolution::groups),
                           param("outsize", &Convolution::outsize));
  }
  static constexpr Mask optional = in_bit(2);
  Mask saves_for(c10::ArrayRef<bool> needs) const { return saves_the_other(needs); }

  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) {
    complete(x.dim() - 2);
    check_channels(x);
    check_axes("w", w.sizes());
    if (Tensor y = depthwise_convolution(*this, x, w, b, outsize); y.defined()) return y;
    Ints map{x.size(0), w.size(0)};
    for (size_t k = 0; k < stride.size(); ++k) map.push_back(positions(k, x.size(k + 2), w.size(k + 2)));
    Ints reach;
    if (outsize) {
      Ints wanted{0, 0};
      wanted.append(outsize->begin(), outsize->end());
      reach = overhang(x.sizes(), wanted, w.sizes());
      for (size_t k = 0; k < stride.size(); ++k) map[k + 2] = std::max(map[k + 2], wanted[k + 2]);
    }
    const Tensor image = extended(x, reach);
    if (const Tensor y = map_by_way(*this, image, w, b, map); y.defined()) return y;
    if (only_shape(*this, image, w, b, image.sizes(), map)) return at::empty(map, x.options());
    const bool plain = holds_window(w.sizes().slice(2));
    const Tensor filters = plain ? in_plain_order(w) : w;
    const auto part = [&](const Tensor& images) {
      return at::convolution(plain ? in_plain_order(images) : images, filters, bias(b), stride, pad, dilate, false,
                             Ints(stride.size(), 0), groups);
    };
    const int64_t n = x.size(0), step = images_at_once(image, map, w);
    if (!step) return part(image);
    Tensor y;
    for (int64_t i = 0; i < n; i += step) {
      const Tensor some = part(image.narrow(0, i, std::min(step, n - i)));
      if (!y.defined()) {
        Ints sizes = ints(some.sizes());
        sizes[0] = n;
        y = at::empty(sizes, some.options());
      }
      y.narrow(0, i, some.size(0)).copy_(some);
    }
    return y;
  }
  void backward(Ctx<Tensor>& c) {
    const Tensor& gy = c.gy();
    c.grad(2, [&] { return sum_over_positions(gy); });
    if ((!c.needs(0) && !c.needs(1)) || depthwise_backward(*this, c, c.in_sizes(1), false)) return;
    const Tensor w = saved_or_shape(c, 1, c.needs(0)), x = saved_or_shape(c, 0, c.needs(1));
    const Ints reach = overhang(x.sizes(), gy.sizes(), w.sizes());
    const Tensor image = extended(x, reach);
    // If both gradients have the same size, the second one is written into the memory of the first.
    const bool into_gy = c.needs(0) && gy.sizes() == image.sizes() && gy.is_contiguous() && may_overwrite(gy);
    std::array<Tensor, 2> sum =
        gradients_by_way(*this, gy, image, w, {c.needs(0), c.needs(1)}, into_gy ? gy : Tensor());
    const std::array<bool, 3> wanted{c.needs(0) && !sum[0].defined(), c.needs(1) && !sum[1].defined(), false};
    const auto part = [&](const Tensor& g, const Tensor& images) {
      return at::convolution_backward(g, images, w, {}, stride, pad, dilate, false, Ints(stride.size(), 0), groups,
                                      wanted);
    };
    const int64_t n = gy.size(0), step = images_at_once(image, gy.sizes(), w);
    const bool rest = wanted[0] || wanted[1];
    if (rest && !step) {
      auto [gx, gw, _] = part(gy, image);
      if (wanted[0]) sum[0] = gx;
      if (wanted[1]) sum[1] = gw;
    } else if (rest) {
      if (wanted[0]) sum[0] = into_gy ? gy : at::empty(image.sizes(), gy.options());
      for (int64_t i = 0; i < n; i += step) {
        const int64_t size = std::min(step, n - i);
        const auto [gx, gw, _] = part(gy.narrow(0, i, size), image.narrow(0, i, size));
        if (wanted[0]) sum[0].narrow(0, i, size).copy_(gx);
        if (wanted[1]) sum[1] = sum[1].defined() ? sum[1].add_(gw) : gw;
      }
    }
    if (c.needs(0) && !reach.empty()) sum[0] = cropped(sum[0], c.in_sizes(0));
    for (size_t k = 0; k < 2; ++k) c.grad(k, [&] { return sum[k]; });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return deconvolution(*this, c.gy(), c.in(1), spatial(c.in_sizes(0))); });
    c.grad(1, [&] { return convolution_grad_w(*this, c.in(0), c.gy(), spatial(c.in_sizes(1))); });
    c.grad(2, [&] { return sum(c.gy(), all_but_channels(c.gy().dim())); });
  }
};
CG_OP("convolution", Convolution,
      "Cross-correlation of x (batch, in, *size) with w (out, in / groups, *filter), plus b (out,).")

struct Deconvolution : Placement {
  std::optional<Ints> outsize;  // None: the smallest image that contains all positions of the filter; set by forward
  static constexpr auto params() {
    return std::make_tuple(param("stride", &Deconvolution::stride), param("pad", &Deconvolution::pad),
                           param("dilate", &Deconvolution::dilate), param("groups", &Deconvolution::groups),
                           param("outsize", &Deconvolution::outsize));
  }
  static constexpr Mask optional = in_bit(2);
  Mask saves_for(c10::ArrayRef<bool> needs) const { return saves_the_other(needs); }

  // The length of the image beyond the part that the filter touches, which ATen calls output padding.
  Ints untouched(at::IntArrayRef map, at::IntArrayRef filter, at::IntArrayRef image) const {
    Ints r;
    for (size_t k = 0; k < stride.size(); ++k)
      r.push_back(std::max<int64_t>(0, image[k] - touched(k, map[k + 2], filter[k + 2])));
    return r;
  }
  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) {
    complete(x.dim() - 2);
    check_channels(x);
    check_axes("w", w.sizes());
    TORCH_CHECK_VALUE(!outsize || outsize->size() == stride.size(), "deconvolution: outsize must have ", stride.size(),
                      " entries, not ", *outsize);
    if (!outsize) {
      outsize.emplace();
      for (size_t k = 0; k < stride.size(); ++k) outsize->push_back(touched(k, x.size(k + 2), w.size(k + 2)));
    }
    for (int64_t n : *outsize) TORCH_CHECK_VALUE(n > 0, "deconvolution: outsize must be positive, not ", n);
    Ints sizes{x.size(0), w.size(1) * groups};
    sizes.append(outsize->begin(), outsize->end());
    if (const Tensor y = image_by_way(*this, x, sizes, w, b); y.defined()) return y;
    if (only_shape(*this, x, w, b, sizes, x.sizes())) return at::empty(sizes, x.options());
    Ints beyond;
    for (size_t k = 0; k < stride.size(); ++k)
      beyond.push_back((*outsize)[k] - touched(k, x.size(k + 2), w.size(k + 2)));
    if (Tensor y = depthwise_deconvolution(*this, x, w, b, beyond); y.defined()) return y;
    const Ints more = untouched(x.sizes(), w.sizes(), *outsize);
    Tensor y = at::convolution(x, w, bias(b), stride, pad, dilate, true, more, groups);
    if (y.sizes().slice(2) == at::IntArrayRef(*outsize)) return y;
    return cropped(std::move(y), sizes);
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(2, [&] { return sum_over_positions(c.gy()); });
    if ((!c.needs(0) && !c.needs(1)) || depthwise_backward(*this, c, c.in_sizes(1), true)) return;
    const Tensor w = saved_or_shape(c, 1, c.needs(0)), x = saved_or_shape(c, 0, c.needs(1));
    const at::IntArrayRef image = c.gy().sizes();
    const Tensor gy = extended(c.gy(), overhang(image, x.sizes(), w.sizes()));
    std::array<Tensor, 2> g;
    if (c.needs(0)) g[0] = map_by_way(*this, gy, w, {}, x.sizes());
    if (c.needs(1)) g[1] = filters_by_way(*this, x, gy, w.sizes());
    const std::array rest{c.needs(0) && !g[0].defined(), c.needs(1) && !g[1].defined()};
    if (rest[0] || rest[1]) {
      auto [gx, gw, _] =
          at::convolution_backward(gy, x, w, {}, stride, pad, dilate, true,
                                   untouched(x.sizes(), w.sizes(), image.slice(2)), groups, {rest[0], rest[1], false});
      if (rest[0]) g[0] = gx;
      if (rest[1]) g[1] = gw;
    }
    for (size_t k = 0; k < 2; ++k) c.grad(k, [&] { return g[k]; });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return convolution(*this, c.gy(), c.in(1), spatial(c.in_sizes(0))); });
    c.grad(1, [&] { return convolution_grad_w(*this, c.gy(), c.in(0), spatial(c.in_sizes(1))); });
    c.grad(2, [&] { return sum(c.gy(), all_but_channels(c.gy().dim())); });
  }
};
CG_OP("deconvolution", Deconvolution,
      "Transposed convolution: x (batch, in, *size), w (in, out / groups, *filter), b (out,); the gradient of "
      "convolution with respect to its image.")

struct ConvolutionGradW : Placement {
  Ints ksize;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &ConvolutionGradW::ksize), param("stride", &ConvolutionGradW::stride),
                           param("pad", &ConvolutionGradW::pad), param("dilate", &ConvolutionGradW::dilate),
                           param("groups", &ConvolutionGradW::groups));
  }
  Mask saves_for(c10::ArrayRef<bool> needs) const { return saves_the_other(needs); }

  Tensor forward(const Tensor& x, const Tensor& gy) {
    complete(x.dim() - 2);
    TORCH_CHECK_VALUE(gy.dim() == x.dim() && gy.size(0) == x.size(0), "convolution_grad_w: gy of shape ", gy.sizes(),
                      " does not fit x of shape ", x.sizes());
    Ints shape{gy.size(1), x.size(1) / groups};
    shape.append(ksize.begin(), ksize.end());
    if (Tensor gw = depthwise_grad_w(*this, x, gy, shape); gw.defined()) return gw;
    const Tensor image = extended(x, overhang(x.sizes(), gy.sizes(), shape));
    if (const Tensor gw = filters_by_way(*this, gy, image, shape); gw.defined()) return gw;
    return std::get<1>(at::convolution_backward(gy, image, at::empty(shape, gy.options()), {}, stride, pad, dilate,
                                                false, Ints(stride.size(), 0), groups, {false, true, false}));
  }
  template <class T>
  void backward(Ctx<T>& c);
};
CG_OP("convolution_grad_w", ConvolutionGradW,
      "The gradient of convolution(x, w) with respect to w, from x and the gradient of the result.")

Tensor convolution(const Placement& p, const Tensor& x, const Tensor& w, Ints outsize) {
  return Convolution{p, std::move(outsize)}.forward(x, w, {});
}
Tensor deconvolution(const Placement& p, const Tensor& x, const Tensor& w, Ints outsize) {
  return Deconvolution{p, std::move(outsize)}.forward(x, w, {});
}
Var convolution(const Placement& p, const Var& x, const Var& w, Ints outsize) {
  return run(Convolution{p, std::move(outsize)}, x, w);
}
Var deconvolution(const Placement& p, const Var& x, const Var& w, Ints outsize) {
  return run(Deconvolution{p, std::move(outsize)}, x, w);
}
Var convolution_grad_w(const Placement& p, const Var& x, const Var& gy, Ints ksize) {
  return run(ConvolutionGradW{p, std::move(ksize)}, x, gy);
}

template <class T>
void ConvolutionGradW::backward(Ctx<T>& c) {
  c.grad(0, [&] { return deconvolution(*this, c.in(1), c.gy(), spatial(c.in_sizes(0))); });
  c.grad(1, [&] { return convolution(*this, c.in(0), c.gy(), spatial(c.in_sizes(1))); });
}

}  // namespace
}  // namespace cg
