// Images: patches and interpolation.
#include <ATen/ops/as_strided.h>
#include <ATen/ops/col2im.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_bilinear2d_backward.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest2d_backward.h>
#include <ATen/ops/zeros.h>

#include "ops/functions.h"

namespace cg {
namespace {

struct Sampling {
  Ints size;  // of the result
  bool align_corners = true;
  std::string mode = "bilinear";

  bool bilinear() const {
    TORCH_CHECK_VALUE(mode == "bilinear" || mode == "nearest", "resize: mode must be 'bilinear' or 'nearest', not '",
                      mode, "'");
    return mode == "bilinear";
  }
};

Tensor resize_grad(const Sampling& p, const Tensor& gy, Ints insize);
Var resize_grad(const Sampling& p, const Var& gy, Ints insize);

struct Resize : Sampling {
  static constexpr auto params() {
    return std::make_tuple(required("size", &Resize::size), param("align_corners", &Resize::align_corners),
                           param("mode", &Resize::mode));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    return bilinear() ? at::upsample_bilinear2d(x, size, align_corners) : at::upsample_nearest2d(x, size);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return resize_grad(*this, c.gy(), ints(c.in_sizes(0))); });
  }
};
CG_OP("resize", Resize,
      "Images (batch, channels, height, width) in another size. align_corners: the centres of the corner pixels keep "
      "their places; otherwise the image's outer edges do.")

struct ResizeGrad : Sampling {
  Ints insize;
  static constexpr auto params() {
    return std::make_tuple(required("size", &ResizeGrad::size), required("insize", &ResizeGrad::insize),
                           param("align_corners", &ResizeGrad::align_corners), param("mode", &ResizeGrad::mode));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& gy) {
    return bilinear() ? at::upsample_bilinear2d_backward(gy, size, insize, align_corners)
                      : at::upsample_nearest2d_backward(gy, size, insize);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(Resize{*this}, c.gy()); });
  }
};
CG_OP("resize_grad", ResizeGrad, "The gradient of resize: from images of `size` to those of shape `insize`.")

Tensor resize_grad(const Sampling& p, const Tensor& gy, Ints insize) {
  return ResizeGrad{p, std::move(insize)}.forward(gy);
}
Var resize_grad(const Sampling& p, const Var& gy, Ints insize) { return run(ResizeGrad{p, std::move(insize)}, gy); }

struct Patches {
  Ints ksize, stride{1, 1}, pad{0, 0}, dilate{1, 1};

  void check(const Tensor& x) const {
    TORCH_CHECK_VALUE(x.dim() == 4 && ksize.size() == 2 && stride.size() == 2 && pad.size() == 2 && dilate.size() == 2,
                      "im2col: x of shape ", x.sizes(),
                      " must have 4 axes, and ksize, stride, pad and dilate 2 numbers");
    for (int k = 0; k < 2; ++k)
      TORCH_CHECK_VALUE(ksize[k] > 0 && stride[k] > 0 && dilate[k] > 0 && pad[k] >= 0, "im2col: ksize, stride and ",
                        "dilate must be positive and pad not negative: ", ksize, ", ", stride, ", ", dilate, ", ", pad);
  }
  Ints counts(at::IntArrayRef image, bool cover_all) const {
    Ints r;
    for (int k = 0; k < 2; ++k)
      r.push_back(
          (image[k] + 2 * pad[k] - dilate[k] * (ksize[k] - 1) - 1 + (cover_all ? stride[k] - 1 : 0)) / stride[k] + 1);
    return r;
  }
  // Sizes of the image, extended up to the end of the last patch.
  Ints extended(at::IntArrayRef image, at::IntArrayRef counts) const {
    Ints r;
    for (int k = 0; k < 2; ++k)
      r.push_back(std::max(image[k], (counts[k] - 1) * stride[k] + dilate[k] * (ksize[k] - 1) + 1 - 2 * pad[k]));
    return r;
  }
};

Tensor col2im(const Patches& p, const Tensor& gy, Ints insize);
Var col2im(const Patches& p, const Var& gy, Ints insize);

struct Im2Col : Patches {
  bool cover_all = false;
  std::optional<Ints> outsize;  // number of patches per axis; parts of patches beyond the image are zeros
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &Im2Col::ksize), param("stride", &Im2Col::stride),
                           param("pad", &Im2Col::pad), param("dilate", &Im2Col::dilate),
                           param("cover_all", &Im2Col::cover_all), param("outsize", &Im2Col::outsize));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    check(x);
    const at::IntArrayRef image = x.sizes().slice(2);
    const Ints n = outsize ? *outsize : counts(image, cover_all), large = extended(image, n);
    const Ints shape{x.size(0), x.size(1) * ksize[0] * ksize[1], n[0], n[1]};
    if (x.numel() == 0) return at::zeros(shape, x.options());
    const Ints around{pad[1], pad[1] + large[1] - image[1], pad[0], pad[0] + large[0] - image[0]};
    const bool inside = around == Ints{0, 0, 0, 0};
    // One copy of overlapping views; at::im2col copies element by element, which takes five times as long.
    const Tensor given = inside ? x : at::constant_pad_nd(x, around, 0);
    const int64_t row = given.stride(2), column = given.stride(3);
    return at::as_strided(given, {x.size(0), x.size(1), ksize[0], ksize[1], n[0], n[1]},
                          {given.stride(0), given.stride(1), dilate[0] * row, dilate[1] * column, stride[0] * row,
                           stride[1] * column})
        .contiguous()
        .view(shape);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return col2im(*this, c.gy(), ints(c.in_sizes(0).slice(2))); });
  }
};
CG_OP("im2col", Im2Col, "Patches of images: (batch, channels * height * width of a patch, rows, columns of patches).")

struct Col2Im : Patches {
  Ints insize;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &Col2Im::ksize), required("insize", &Col2Im::insize),
                           param("stride", &Col2Im::stride), param("pad", &Col2Im::pad),
                           param("dilate", &Col2Im::dilate));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& gy) {
    check(gy);
    const at::IntArrayRef n = gy.sizes().slice(2);
    const Ints large = extended(insize, n);
    if (gy.numel() == 0)
      return at::zeros({gy.size(0), gy.size(1) / (ksize[0] * ksize[1]), insize[0], insize[1]}, gy.options());
    const int64_t taps = ksize[0] * ksize[1];
    if (gy.numel() < 4096 * taps) {  // here the calls of the other way would take longer than its arithmetic
      const Tensor x = at::col2im(gy.reshape({gy.size(0), gy.size(1), -1}), large, ksize, dilate, pad, stride);
      return x.narrow(2, 0, insize[0]).narrow(3, 0, insize[1]).contiguous();
    }
    const Tensor patches = gy.reshape({gy.size(0), gy.size(1) / taps, taps, n[0], n[1]});
    const Tensor x =
        at::zeros({gy.size(0), gy.size(1) / taps, large[0] + 2 * pad[0], large[1] + 2 * pad[1]}, gy.options());
    for (int64_t i = 0; i < taps; ++i) {
      const int64_t top = i / ksize[1] * dilate[0], left = i % ksize[1] * dilate[1];
      x.slice(2, top, top + (n[0] - 1) * stride[0] + 1, stride[0])
          .slice(3, left, left + (n[1] - 1) * stride[1] + 1, stride[1])
          .add_(patches.select(2, i));
    }
    return x.narrow(2, pad[0], insize[0]).narrow(3, pad[1], insize[1]).contiguous();
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(Im2Col{*this, false, ints(c.in_sizes(0).slice(2))}, c.gy()); });
  }
};
CG_OP("col2im", Col2Im, "Sum of overlapping patches, the gradient of im2col: to images of height and width `insize`.")

Tensor col2im(const Patches& p, const Tensor& gy, Ints insize) { return Col2Im{p, std::move(insize)}.forward(gy); }
Var col2im(const Patches& p, const Var& gy, Ints insize) { return run(Col2Im{p, std::move(insize)}, gy); }

}  // namespace
}  // namespace cg
