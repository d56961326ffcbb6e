// Convolutions in nnabla's layouts: depthwise convolution and deconvolution, and transposed convolution with output
// padding.
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include "core/named.h"
#include "ops/axes.h"
#include "ops/conv_depthwise.h"
#include "ops/conv_ways.h"

namespace cg {
namespace {

Ints one_channel_each(at::IntArrayRef w) {
  TORCH_CHECK_VALUE(!w.empty(), "depthwise convolution: w must have an axis of channels");
  Ints r{w[0], 1};
  r.append(w.begin() + 1, w.end());
  return r;
}
Ints as_they_are(at::IntArrayRef w) { return ints(w); }

// `Op` defines groups(x, w), the number of groups, and filters(w), the shape of the kernels for a convolution.
template <class Op, bool transposed>
struct Convolving {
  Ints stride, pad, dilate, output_padding;
  static constexpr Mask optional = in_bit(2);
  Mask saves_for(c10::ArrayRef<bool> needs) const { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }
  const Op& op() const { return static_cast<const Op&>(*this); }
  Placement placement(at::IntArrayRef x) const { return {stride, pad, dilate, op().groups(x)}; }
  Ints extra() const { return output_padding.empty() ? Ints(stride.size(), 0) : output_padding; }

  // The shape of the result; empty if the arguments do not fit.
  Ints shape(const Placement& p, at::IntArrayRef x, at::IntArrayRef w) const {
    const size_t n = p.stride.size();
    const Ints more = extra();
    if (x.size() != n + 2 || w.size() != n + 2 || p.pad.size() != n || p.dilate.size() != n || more.size() != n)
      return {};
    for (int64_t k : p.stride)
      if (k < 1) return {};
    Ints r{x[0], transposed ? w[1] * p.groups : w[0]};
    for (size_t k = 0; k < n; ++k)
      r.push_back(transposed ? p.touched(k, x[k + 2], w[k + 2]) + more[k] : p.positions(k, x[k + 2], w[k + 2]));
    return r;
  }
  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) {
    const Tensor kernels = shaped(w, Op::filters(w.sizes()));
    const Placement p = placement(x.sizes());
    const Tensor y = transposed ? depthwise_deconvolution(p, x, kernels, b, extra())
                                : depthwise_convolution(p, x, kernels, b, std::nullopt);
    if (y.defined()) return y;
    const Ints result = shape(p, x.sizes(), kernels.sizes());
    if (transposed)
      if (const Tensor image = image_by_way(p, x, result, kernels, b); image.defined()) return image;
    if (transposed ? only_shape(p, x, kernels, b, result, x.sizes()) : only_shape(p, x, kernels, b, x.sizes(), result))
      return at::empty(result, x.options());
    return at::convolution(x, kernels, b.defined() ? std::optional<Tensor>(b) : std::nullopt, stride, pad, dilate,
                           transposed, extra(), p.groups);
  }
  void backward(Ctx<Tensor>& c) {
    // The convolution kernel sums number by number, which is less precise than at::sum.
    c.grad(2, [&] { return at::sum(c.gy(), all_but_channels(c.gy().dim())); });
    if (!c.needs(0) && !c.needs(1)) return;
    // Inputs that were not saved are replaced by empty tensors, because the kernel reads only their shapes.
    const at::IntArrayRef x = c.in_sizes(0), w = c.in_sizes(1);
    const Ints filters = Op::filters(w);
    if (depthwise_backward(placement(x), c, filters, transposed)) return;
    const Tensor image = c.needs(1) ? c.in(0) : at::empty(x, c.gy().options());
    const Tensor kernels = c.needs(0) ? shaped(c.in(1), filters) : at::empty(filters, c.gy().options());
    Tensor gx, gw;
    if (transposed && c.needs(0)) gx = map_by_way(placement(x), c.gy(), kernels, {}, x);
    if (transposed && c.needs(1)) gw = filters_by_way(placement(x), image, c.gy(), filters);
    const std::array<bool, 3> rest{c.needs(0) && !gx.defined(), c.needs(1) && !gw.defined(), false};
    if (rest[0] || rest[1]) {
      const auto found = at::convolution_backward(c.gy(), image, kernels, {}, stride, pad, dilate, transposed, extra(),
                                                  op().groups(x), rest);
      if (rest[0]) gx = std::get<0>(found);
      if (rest[1]) gw = std::get<1>(found);
    }
    c.grad(0, [&] { return gx; });
    c.grad(1, [&] { return shaped(gw, w); });
  }
  void backward(Ctx<Var>& c) {
    const at::IntArrayRef x = c.in_sizes(0), w = c.in_sizes(1);
    const Ints filters = Op::filters(w);
    const auto placed = [&](const OpInfo* info) {
      Named r(info);
      r.with("stride", stride).with("pad", pad).with("dilate", dilate).with("groups", op().groups(x));
      return r;
    };
    c.grad(0, [&] {
      Named r = placed(transposed ? CG_NAMED("convolution") : CG_NAMED("deconvolution"));
      return r.with("outsize", std::optional<Ints>(ints(x.slice(2))))(c.gy(), shaped(c.in(1), filters));
    });
    c.grad(1, [&] {
      Named r = placed(CG_NAMED("convolution_grad_w")).with("ksize", ints(at::IntArrayRef(filters).slice(2)));
      return shaped(transposed ? r(c.gy(), c.in(0)) : r(c.in(0), c.gy()), w);
    });
    c.grad(2, [&] { return sum(c.gy(), all_but_channels(c.gy().dim())); });
  }
};

struct DepthwiseConvolution : Convolving<DepthwiseConvolution, false> {
  using Self = DepthwiseConvolution;
  static constexpr auto params() {
    return std::make_tuple(required("stride", &Self::stride), required("pad", &Self::pad),
                           required("dilate", &Self::dilate));
  }
  static Ints filters(at::IntArrayRef w) { return one_channel_each(w); }
  int64_t groups(at::IntArrayRef x) const { return x[1]; }
};
CG_OP("depthwise_convolution", DepthwiseConvolution,
      "Cross-correlation of each channel of x (batch, channels, *size) with the channel's own kernels in w (channels * "
      "multiplier, *filter), plus b (channels * multiplier,).")

struct DepthwiseDeconvolution : Convolving<DepthwiseDeconvolution, true> {
  using Self = DepthwiseDeconvolution;
  int64_t divisor = 1;
  static constexpr auto params() {
    return std::make_tuple(required("stride", &Self::stride), required("pad", &Self::pad),
                           required("dilate", &Self::dilate), param("divisor", &Self::divisor));
  }
  static Ints filters(at::IntArrayRef w) { return one_channel_each(w); }
  int64_t groups(at::IntArrayRef x) const {
    TORCH_CHECK_VALUE(divisor > 0, "depthwise deconvolution: divisor must be positive, not ", divisor);
    return x[1] / divisor;
  }
};
CG_OP("depthwise_deconvolution", DepthwiseDeconvolution,
      "Transposed convolution of each channel of x (batch, channels, *size) with its kernel in w (channels, *filter), "
      "summed over groups of divisor channels; plus b (channels / divisor,).")

struct TransposedConvolution : Convolving<TransposedConvolution, true> {
  using Self = TransposedConvolution;
  int64_t group_count = 1;
  static constexpr auto params() {
    return std::make_tuple(required("stride", &Self::stride), required("pad", &Self::pad),
                           required("dilate", &Self::dilate), param("groups", &Self::group_count),
                           param("output_padding", &Self::output_padding));
  }
  static Ints filters(at::IntArrayRef w) { return as_they_are(w); }
  int64_t groups(at::IntArrayRef) const { return group_count; }
};
CG_OP("transposed_convolution", TransposedConvolution,
      "As deconvolution; the size of the result is the smallest possible one plus output_padding, which must be less "
      "than stride.")

}  // namespace
}  // namespace cg
