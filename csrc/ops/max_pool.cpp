// Max pooling in 1 to 3 dimensions.
//
// The positions of the maxima are stored in one of two forms: as positions in the window, which compatgrad's CPU kernel
// stores as bytes and users see as `indexes`; or, from ATen's kernels, as positions in the padded image ("flat"). Loops
// over bytes in main memory (kernels/pooling.h) compute the gradient of pooling; for users' positions in other dtypes
// and on a GPU, the kernels of kernels/window_places.h do.
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "core/deferred.h"
#include "kernels/kernel.h"
#include "kernels/pooling.h"
#include "kernels/raw.h"
#include "ops/pooling.h"

namespace cg {
namespace {

struct MaxWindow : Window {
  bool has_kernel(const Tensor& x) const { return kernels::raw(x) && volume() <= kernels::kMaxWindow; }
  kernels::PoolWindow for_kernel() const {
    kernels::PoolWindow w{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
    for (size_t k = 0, to = 3 - ndim(); k < ndim(); ++k, ++to) {
      w.ksize[to] = ksize[k];
      w.stride[to] = stride[k];
      w.pad[to] = pad[k];
    }
    return w;
  }
  // Checks indexes of a map of `sizes` and converts them to `type`. Those that are not `own`, from max_pooling's
  // kernel, may be outside the window, and kernels would read and write beyond the images.
  Tensor places(const Tensor& indexes, at::IntArrayRef sizes, at::ScalarType type, bool own = false) const {
    TORCH_CHECK_VALUE(indexes.sizes() == sizes, "indexes of shape ", indexes.sizes(), " do not fit windows of shape ",
                      sizes);
    if (!own && indexes.numel() && indexes.device().is_cpu()) {
      const auto [low, high] = at::aminmax(indexes);
      TORCH_CHECK_INDEX(low.item<int64_t>() >= 0 && high.item<int64_t>() < volume(),
                        "indexes must be at least 0 and less than ", volume(), ", the size of a window; got ",
                        low.item<int64_t>(), " to ", high.item<int64_t>());
    }
    return indexes.to(type).contiguous();
  }
  // (planes, depth, height, width)
  static Tensor planes(const Tensor& x) {
    const int64_t n = x.dim();
    return x.contiguous().view(
        {x.size(0) * x.size(1), n > 4 ? x.size(n - 3) : 1, n > 3 ? x.size(n - 2) : 1, x.size(n - 1)});
  }
  std::tuple<Tensor, Tensor> aten_forward(const Tensor& x, at::IntArrayRef map) const {
    const Tensor given = add_padding(x, map, -std::numeric_limits<double>::infinity());
    // Numbers are given for each axis, because converters of graphs do not extend short lists as ATen does.
    if (ndim() == 3) return at::max_pool3d_with_indices(given, ksize, stride, {0, 0, 0}, {1, 1, 1});
    if (ndim() == 2) return at::max_pool2d_with_indices(given, ksize, stride, {0, 0}, {1, 1});
    auto [y, at] = at::max_pool2d_with_indices(given.unsqueeze(2), {1, ksize[0]}, {1, stride[0]}, {0, 0}, {1, 1});
    return {y.squeeze(2), at.squeeze(2)};
  }
  // The offset of each window's first element in the padded image, along axis k; broadcasts against the map.
  Tensor starts(size_t k, at::IntArrayRef map, const Tensor& like) const {
    Ints shape;
    for (size_t j = 0; j < ndim(); ++j) shape.push_back(j == k ? map[k] : 1);
    return (at::arange(map[k], like.options().dtype(at::kLong)) * stride[k]).view(shape);
  }
  Tensor to_flat(const Tensor& indexes, at::IntArrayRef large) const {
    Tensor rest = indexes.to(at::kLong), r = at::zeros_like(rest);
    const Ints map = spatial(indexes.sizes());
    for (int64_t k = ndim(), step = 1; k-- > 0; step *= large[k]) {
      r = r + (rest.remainder(ksize[k]) + starts(k, map, rest)) * step;
      rest = rest.div(ksize[k], "floor");
    }
    return r;
  }
  Tensor from_flat(const Tensor& flat, at::IntArrayRef large) const {
    Tensor rest = flat, r = at::zeros_like(flat);
    const Ints map = spatial(flat.sizes());
    for (int64_t k = ndim(), step = 1; k-- > 0; step *= ksize[k]) {
      r = r + (rest.remainder(large[k]) - starts(k, map, rest)) * step;
      rest = rest.div(large[k], "floor");
    }
    return r;
  }
};

// Positions with one row per plane, for gather and scatter.
Tensor rows(const Tensor& x) { return x.reshape({x.size(0) * x.size(1), -1}); }

template <class T>
T pool_scatter(const MaxWindow& w, const T& gy, const T& indexes, bool flat, Ints insize, bool own = false);
template <class T>
T pool_gather(const MaxWindow& w, const T& x, const T& indexes, bool flat);

struct MaxPooling : MaxWindow {
  bool cover_all = true, return_indices = false;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &MaxPooling::ksize), param("stride", &MaxPooling::stride),
                           param("pad", &MaxPooling::pad), param("cover_all", &MaxPooling::cover_all),
                           param("return_indices", &MaxPooling::return_indices));
  }
  static constexpr Mask saves = 0;
  Tensor indexes;
  static constexpr auto stored() { return std::make_tuple(param("indexes", &MaxPooling::indexes)); }
  bool flat = false;

  std::vector<Tensor> infer(const Tensor& x) {
    complete(x.dim() - 2);
    const Ints image = spatial(x.sizes()), map = pooled(image, cover_all);
    flat = !has_kernel(x);
    const auto sizes = with_spatial(x.sizes(), map);
    indexes = hollow(sizes, flat ? at::kLong : at::kByte, x.device());
    Tensor y = hollow(sizes, x.scalar_type(), x.device());
    if (!return_indices) return {y};
    return {y, hollow(sizes, at::kLong, x.device())};
  }
  std::vector<Tensor> forward(const Tensor& x) {
    complete(x.dim() - 2);
    const Ints image = spatial(x.sizes()), map = pooled(image, cover_all);
    TORCH_CHECK_VALUE(c10::multiply_integers(image) > 0, "max_pooling: the images of x have no elements");
    Tensor y;
    flat = !has_kernel(x);
    if (flat) {
      std::tie(y, indexes) = aten_forward(x, map);
    } else {
      y = at::empty(with_spatial(x.sizes(), map), x.options());
      indexes = at::empty(y.sizes(), x.options().dtype(at::kByte));
      kernels::max_pool(for_kernel(), planes(x), planes(y), planes(indexes));
    }
    if (!return_indices) return {y};
    return {y, flat ? from_flat(indexes, padded(image, map)) : indexes.to(at::kLong)};
  }
  template <class T>
  void backward(Ctx<T>& c) {
    constexpr bool own = std::is_same_v<T, Tensor>;  // in a recorded pass a program may reach the indexes
    if (value(c.gy()).defined())
      c.grad(0, [&] { return pool_scatter<T>(*this, c.gy(), c.saved(indexes), flat, spatial(c.in_sizes(0)), own); });
  }
};
CG_OP("max_pooling", MaxPooling,
      "Maximum of each window over the axes after the first two; with return_indices also its position in the window.")

struct MaxPoolingGrad : MaxWindow {
  Ints insize;
  bool flat = false;
  bool own = false;  // see `places`; not a parameter
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &MaxPoolingGrad::ksize), required("insize", &MaxPoolingGrad::insize),
                           param("stride", &MaxPoolingGrad::stride), param("pad", &MaxPoolingGrad::pad),
                           param("flat", &MaxPoolingGrad::flat));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);

  void check(const Tensor& gy) {
    complete(gy.dim() - 2);
    TORCH_CHECK_VALUE(insize.size() == ndim(), "max_pooling_grad: insize must have ", ndim(), " numbers, not ", insize);
  }
  Tensor infer(const Tensor& gy, const Tensor& indexes) {
    check(gy);
    const bool fit = indexes.sizes() == gy.sizes() && gy.numel() > 0 && c10::multiply_integers(insize) > 0;
    return fit ? hollow(with_spatial(gy.sizes(), insize), gy) : Tensor();
  }
  Tensor forward(const Tensor& gy, const Tensor& indexes) {
    check(gy);
    const auto places_of = [&](at::ScalarType type) { return places(indexes, gy.sizes(), type, own); };
    if (!flat && has_kernel(gy)) {
      Tensor gx = at::empty(with_spatial(gy.sizes(), insize), gy.options());
      kernels::max_pool_scatter(for_kernel(), planes(gy), planes(places_of(at::kByte)), planes(gx));
      return gx;
    }
    if (!flat && kernels::takes(gy)) {
      static const kernels::Kernel kernel("window_scatter");
      const Tensor given = gy.contiguous(), gx = at::empty(with_spatial(gy.sizes(), insize), gy.options());
      kernel({gx, given, places_of(at::kInt)}, {}, integers(gx.sizes(), gy.sizes(), gy.is_cpu()));
      return gx;
    }
    const Ints large = padded(insize, spatial(gy.sizes()));
    Tensor gx = at::zeros(with_spatial(gy.sizes(), large), gy.options());
    rows(gx).scatter_add_(1, rows(flat ? indexes : to_flat(indexes, large)), rows(gy));
    return drop_padding(gx, insize);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return pool_gather<T>(*this, c.gy(), c.in(1), flat); });
  }
};
CG_OP("max_pooling_grad", MaxPoolingGrad,
      "Adds each element to the pixel of its window at the position in indexes: upsampling, and the gradient of "
      "max_pooling. flat: indexes are positions in the padded image.")

struct MaxPoolingAt : MaxWindow {
  bool flat = false;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &MaxPoolingAt::ksize), param("stride", &MaxPoolingAt::stride),
                           param("pad", &MaxPoolingAt::pad), param("flat", &MaxPoolingAt::flat));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);

  Tensor infer(const Tensor& x, const Tensor& indexes) {
    complete(x.dim() - 2);
    const bool fit = indexes.dim() == x.dim() && indexes.sizes().slice(0, 2) == x.sizes().slice(0, 2) && x.numel() > 0;
    return fit ? hollow(indexes.sizes(), x) : Tensor();
  }
  Tensor forward(const Tensor& x, const Tensor& indexes) {
    complete(x.dim() - 2);
    TORCH_CHECK_VALUE(indexes.dim() == x.dim(), "indexes of shape ", indexes.sizes(), " do not fit x of shape ",
                      x.sizes());
    const auto map = with_spatial(x.sizes(), spatial(indexes.sizes()));
    if (!flat && has_kernel(x)) {
      Tensor y = at::empty(map, x.options());
      kernels::max_pool_gather(for_kernel(), planes(x), planes(places(indexes, map, at::kByte)), planes(y));
      return y;
    }
    if (!flat && kernels::takes(x)) {
      static const kernels::Kernel kernel("window_picks");
      const Tensor given = x.contiguous(), y = at::empty(map, x.options());
      kernel({y, given, places(indexes, map, at::kInt)}, {}, integers(x.sizes(), y.sizes(), false));
      return y;
    }
    const Tensor given = add_padding(x, spatial(indexes.sizes()), 0);
    const Tensor at = flat ? indexes : to_flat(indexes, spatial(given.sizes()));
    return at::gather(rows(given), 1, rows(at)).view(indexes.sizes());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return pool_scatter<T>(*this, c.gy(), c.in(1), flat, spatial(c.in_sizes(0))); });
  }
};
CG_OP("max_pooling_at", MaxPoolingAt,
      "The pixel of each window at the position in indexes; its gradient is max_pooling_grad.")

template <class T>
T pool_scatter(const MaxWindow& w, const T& gy, const T& indexes, bool flat, Ints insize, bool own) {
  return run(MaxPoolingGrad{{w}, std::move(insize), flat, own}, gy, indexes);
}
template <class T>
T pool_gather(const MaxWindow& w, const T& x, const T& indexes, bool flat) {
  return run(MaxPoolingAt{{w}, flat}, x, indexes);
}

}  // namespace
}  // namespace cg
