// Convolution of each channel with kernels of its own.
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>

#include "ops/named.h"

namespace cg {
namespace {

struct DepthwiseConvolution {
  Ints stride, pad, dilate;
  static constexpr auto params() {
    return std::make_tuple(required("stride", &DepthwiseConvolution::stride),
                           required("pad", &DepthwiseConvolution::pad),
                           required("dilate", &DepthwiseConvolution::dilate));
  }
  static constexpr unsigned optional = in_bit(2);
  unsigned saves_for(c10::ArrayRef<bool> needs) const {
    return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0);
  }
  // The kernels as those of a convolution in groups of one channel.
  static Ints grouped(at::IntArrayRef w) {
    Ints r{w[0], 1};
    r.append(w.begin() + 1, w.end());
    return r;
  }
  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) {
    return at::convolution(x, at::reshape(w, grouped(w.sizes())), b.defined() ? std::optional<Tensor>(b) : std::nullopt,
                           stride, pad, dilate, false, Ints(stride.size(), 0), x.size(1));
  }
  void backward(Ctx<Tensor>& c) {
    const auto saved = [&](size_t i, at::IntArrayRef sizes) {
      return c.in(i).defined() ? at::reshape(c.in(i), sizes) : at::empty(sizes, c.gy().options());
    };
    const at::IntArrayRef x = c.in_sizes(0), w = c.in_sizes(1);
    auto [gx, gw, gb] =
        at::convolution_backward(c.gy(), saved(0, x), saved(1, grouped(w)), at::OptionalIntArrayRef(w[0]), stride, pad,
                                 dilate, false, Ints(stride.size(), 0), x[1], {c.needs(0), c.needs(1), c.needs(2)});
    c.grad(0, [&] { return gx; });
    c.grad(1, [&] { return at::reshape(gw, w); });
    c.grad(2, [&] { return gb; });
  }
  Named placed(const OpInfo* op, int64_t groups) const {
    Named r(op);
    r.with("stride", stride).with("pad", pad).with("dilate", dilate).with("groups", groups);
    return r;
  }
  void backward(Ctx<Var>& c) {
    const at::IntArrayRef x = c.in_sizes(0), w = c.in_sizes(1);
    c.grad(0, [&] {
      return placed(CG_NAMED("deconvolution"), x[1])
          .with("outsize", std::optional<Ints>(ints(x.slice(2))))(c.gy(), reshape(c.in(1), grouped(w)));
    });
    c.grad(1, [&] {
      return reshape(placed(CG_NAMED("convolution_grad_w"), x[1]).with("ksize", ints(w.slice(1)))(c.in(0), c.gy()), w);
    });
    c.grad(2, [&] {
      Ints axes{0};
      for (int64_t k = 2; k < c.gy().dim(); ++k) axes.push_back(k);
      return sum(c.gy(), axes);
    });
  }
};
CG_OP("depthwise_convolution", DepthwiseConvolution,
      "Cross-correlation of each channel of x (batch, channels, *size) with kernels of its own, w (channels * "
      "multiplier, *filter), plus b (channels * multiplier,).")

}  // namespace
}  // namespace cg
