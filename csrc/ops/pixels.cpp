// Images read at computed positions, for warping by grids and flows.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "core/deferred.h"
#include "ops/functions.h"
#include "ops/one_loop.h"

namespace cg {
namespace {

struct Positions {
  Ints offset;

  struct Found {
    Tensor flat, inside;  // of shape (batch, 1, positions)
  };
  // at (batch, ..., axes): whole numbers, the last axis of the image first.
  Found find(const Tensor& at, at::IntArrayRef image) const {
    const int64_t n = static_cast<int64_t>(image.size());
    Tensor flat, inside;
    int64_t stride = 1;
    for (int64_t d = 0; d < n; ++d) {
      const int64_t last = image[n - 1 - d] - 1;
      const Tensor p = at.select(-1, d) + offset[d], q = p.clamp(0, last);
      const Tensor part = q.to(at::kLong) * stride;
      flat = flat.defined() ? flat + part : part;
      const Tensor ok = p.eq(q);
      inside = inside.defined() ? inside.logical_and(ok) : ok;
      stride *= last + 1;
    }
    auto line = [&](const Tensor& t) { return t.reshape({t.size(0), 1, -1}); };
    return {line(flat), line(inside)};
  }
  void check(at::IntArrayRef image, const Tensor& at) const {
    TORCH_CHECK_VALUE(
        at.dim() >= 2 && at.size(-1) == static_cast<int64_t>(image.size()) && offset.size() == image.size(),
        "pixels: positions of shape ", at.sizes(), " in an image of shape ", image);
  }
  // (batch, channels, ...), where ... are the axes of `at` without the first and the last.
  static Ints result_shape(const Tensor& x, const Tensor& at) {
    Ints r{x.size(0), x.size(1)};
    for (int64_t a = 1; a + 1 < at.dim(); ++a) r.push_back(at.size(a));
    return r;
  }
};

#define CG_POSITIONS(OP) required("offset", &OP::offset)

struct PixelsGrad : Positions {
  Ints size;
  static constexpr auto params() {
    return std::make_tuple(CG_POSITIONS(PixelsGrad), required("size", &PixelsGrad::size));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& at) {
    check(size, at);
    Ints shape{gy.size(0), gy.size(1)};
    shape.append(size.begin(), size.end());
    if (gy.is_meta()) return at::empty(shape, gy.options());
    const auto [flat, inside] = find(at, size);
    const Tensor g = gy.reshape({gy.size(0), gy.size(1), -1}) * inside;
    Tensor gx = at::zeros(shape, gy.options());
    gx.view({gy.size(0), gy.size(1), -1}).scatter_add_(2, flat.expand(g.sizes()), g);
    return gx;
  }
  template <class T>
  void backward(Ctx<T>& c);
};

struct Pixels : Positions {
  static constexpr auto params() { return std::make_tuple(CG_POSITIONS(Pixels)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& at) {
    const at::IntArrayRef image = x.sizes().slice(2);
    check(image, at);
    const Ints shape = result_shape(x, at);
    if (x.is_meta()) return at::empty(shape, x.options());
    const auto [flat, inside] = find(at, image);
    const Tensor y =
        at::gather(x.reshape({x.size(0), x.size(1), -1}), 2, flat.expand({flat.size(0), x.size(1), flat.size(2)}));
    return (y * inside).reshape(shape);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(PixelsGrad{*this, ints(c.in_sizes(0).slice(2))}, c.gy(), c.in(1)); });
  }
};
template <class T>
void PixelsGrad::backward(Ctx<T>& c) {
  c.grad(0, [&] { return run(Pixels{*this}, c.gy(), c.in(1)); });
}
CG_OP("pixels", Pixels,
      "Images (batch, channels, ...) read at integer positions (batch, ..., axes) + offset, the last axis first; 0 "
      "beyond the border.")
CG_OP("pixels_grad", PixelsGrad, "The gradient of pixels, for images whose axes have the sizes `size`.")

// Maps a coordinate to the range of the pixels 0 ... size - 1.
struct Border {
  int64_t size = 1;
  std::string mode = "repeat";
  bool align_corners = false;
  static constexpr auto params() {
    return std::make_tuple(required("size", &Border::size), param("mode", &Border::mode),
                           param("align_corners", &Border::align_corners));
  }

 protected:
  bool reflects() const {
    TORCH_CHECK_VALUE(mode == "repeat" || mode == "reflect", "border_coordinate: mode must be 'repeat' or 'reflect', ",
                      "not '", mode, "'");
    return mode == "reflect";
  }
  double last() const { return static_cast<double>(size - 1); }
  // The ends at which coordinates are reflected. With align_corners an axis of one pixel has both ends at one point,
  // where nothing can be reflected.
  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return last() - low(); }
  bool no_room() const { return low() == high(); }

  template <class X>
  struct Turned {
    X to, slope;
  };
  // floor of a nonnegative number without a function call: x + 2^23 has no fractional part.
  template <class X>
  CG_EACH static X whole(X x) {
    constexpr X digits = sizeof(X) == 4 ? X(0x1p23) : X(0x1p52);
    const X nearest = (x + digits) - digits, low = nearest > x ? nearest - 1 : nearest;
    return x < digits ? low : x;
  }
  template <class X>
  CG_EACH static Turned<X> turned(X s, X low, X high) {
    const X length = high - low, out = s < low ? low - s : s - high, beyond = out > 0 ? out : X(0);
    const X turns = whole(beyond / length), rest = beyond - turns * length;
    const bool odd = turns != 2 * whole(turns / 2);
    const X folded = (s < low) != odd ? low + rest : high - rest;
    return {out > 0 ? folded : s, out > 0 && !odd ? X(-1) : X(1)};
  }
  Turned<Tensor> turned(const Tensor& s) const {
    const double length = high() - low();
    const Tensor under = s.lt(low()), beyond = at::where(under, low() - s, s - high()).clamp_min(0);
    const Tensor turns = (beyond / length).floor(), rest = beyond - turns * length, odd = at::fmod(turns, 2).ne(0);
    const Tensor outside = under.logical_or(s.gt(high()));
    const Tensor folded = at::where(under.ne(odd), low() + rest, high() - rest);
    return {at::where(outside, folded, s), at::ones_like(s).masked_fill(outside.logical_and(odd.logical_not()), -1)};
  }
  // In the half pixel beyond the outermost centres the value is that of the outermost pixel, with derivative 0.
  Tensor inside(const Tensor& s) const { return s.clamp(0, last()); }
};

struct BorderCoordinateGrad : Border {
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& s) {
    if (!reflects()) return gy * inside(s).eq(s);
    if (no_room()) return gy * 0;
    return fused(
        [low = low(), high = high(), last = last()](auto g, auto s) CG_EACH {
          using X = decltype(s);
          const Turned<X> t = turned(s, X(low), X(high));
          return g * (t.to >= 0 && t.to <= X(last) ? t.slope : X(0));
        },
        [this](const Tensor& g, const Tensor& s) {
          const auto [to, slope] = turned(s);
          return g * (slope * inside(to).eq(to));
        },
        gy, s);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(*this, c.gy(), c.in(1)); });
  }
};
CG_POINTWISE("border_coordinate_grad", BorderCoordinateGrad, "gy times the slope of border_coordinate at s.")

struct BorderCoordinate : Border {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& s) {
    if (!reflects()) return inside(s);
    if (no_room()) return at::zeros_like(s);
    return fused(
        [low = low(), high = high(), last = last()](auto s) CG_EACH {
          using X = decltype(s);
          const X to = turned(s, X(low), X(high)).to;
          return to < 0 ? X(0) : to > X(last) ? X(last) : to;
        },
        [this](const Tensor& s) { return inside(turned(s).to); }, s);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(BorderCoordinateGrad{*this}, c.gy(), c.in(0)); });
  }
};
CG_POINTWISE(
    "border_coordinate", BorderCoordinate,
    "Coordinates mapped to the range of an axis of `size` pixels: mode 'repeat' limits them to its ends, 'reflect' "
    "mirrors them there (at the centres of the outermost pixels with align_corners, else at their outer edges).")

// Affine transformations of the unit grid.
struct Grid {
  Ints size;
  bool align_corners = false;

  // The shape of a grid.
  Ints grid_of(int64_t batch) const {
    Ints shape{batch};
    shape.append(size.begin(), size.end());
    shape.push_back(static_cast<int64_t>(size.size()));
    return shape;
  }
  // (positions, axes + 1): coordinates in -1 ... 1, the last axis first, then a 1.
  Tensor homogeneous(const Tensor& like) const {
    const int64_t n = static_cast<int64_t>(size.size());
    TORCH_CHECK_VALUE(n > 0, "affine_grid: size is empty");
    std::vector<Tensor> columns;
    for (int64_t d = n - 1; d >= 0; --d) {
      const double length = static_cast<double>(size[d]), scale = align_corners ? std::max(length - 1, 1.0) : length;
      Ints shape(n, 1);
      shape[d] = size[d];
      const Tensor line = (at::arange(size[d], like.options()) * 2 - (length - 1)) / scale;
      columns.push_back(line.reshape(shape).expand(at::IntArrayRef(size)).reshape(-1));
    }
    columns.push_back(at::ones_like(columns[0]));
    return at::stack(columns, 1);
  }
};

struct AffineGridGrad : Grid {
  static constexpr auto params() {
    return std::make_tuple(required("size", &AffineGridGrad::size),
                           param("align_corners", &AffineGridGrad::align_corners));
  }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& gy) const {
    const bool fit = gy.dim() > 0 && gy.sizes() == at::IntArrayRef(grid_of(gy.size(0)));
    return fit ? hollow({gy.size(0), gy.size(-1), gy.size(-1) + 1}, gy) : Tensor();
  }
  Tensor forward(const Tensor& gy) {
    const int64_t n = static_cast<int64_t>(size.size());
    return at::matmul(gy.reshape({gy.size(0), -1, n}).transpose(1, 2), homogeneous(gy));
  }
  template <class T>
  void backward(Ctx<T>& c);
};

struct AffineGrid : Grid {
  static constexpr auto params() {
    return std::make_tuple(required("size", &AffineGrid::size), param("align_corners", &AffineGrid::align_corners));
  }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& theta) const {
    const int64_t n = static_cast<int64_t>(size.size());
    const bool fit = theta.dim() == 3 && theta.size(1) == n && theta.size(2) == n + 1;
    return fit ? hollow(grid_of(theta.size(0)), theta) : Tensor();
  }
  Tensor forward(const Tensor& theta) {
    return at::matmul(homogeneous(theta), theta.transpose(1, 2)).reshape(grid_of(theta.size(0)));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(AffineGridGrad{*this}, c.gy()); });
  }
};
template <class T>
void AffineGridGrad::backward(Ctx<T>& c) {
  c.grad(0, [&] { return run(AffineGrid{*this}, c.gy()); });
}
CG_OP("affine_grid", AffineGrid,
      "The grid of the unit cube of shape `size`, transformed by theta (batch, axes, axes + 1), the last axis first.")
CG_OP("affine_grid_grad", AffineGridGrad, "The gradient of affine_grid.")

}  // namespace
}  // namespace cg
