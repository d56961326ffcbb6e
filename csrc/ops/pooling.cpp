// Sums and means over windows of images, unpooling, and the sizes and padding of windows.
#include "ops/pooling.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/avg_pool3d_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/util/accumulate.h>

#include "kernels/kernel.h"
#include "kernels/only_shape.h"

namespace cg {

void Window::complete(int64_t ndim) {
  auto fill = [&](Ints& v) {
    if (v.size() == 1) v.assign(ndim, v[0]);
  };
  fill(ksize);
  if (stride.empty()) stride = ksize;
  fill(stride);
  if (pad.empty()) pad.assign(ndim, 0);
  fill(pad);
  TORCH_CHECK_VALUE(ndim >= 1 && ndim <= 3, "pooling: x must have 3 to 5 axes, not ", ndim + 2);
  TORCH_CHECK_VALUE(ksize.size() == size_t(ndim) && stride.size() == size_t(ndim) && pad.size() == size_t(ndim),
                    "pooling: ksize, stride and pad must have one entry or ", ndim);
  for (size_t k = 0; k < size_t(ndim); ++k)
    TORCH_CHECK_VALUE(ksize[k] > 0 && stride[k] > 0 && pad[k] >= 0,
                      "pooling: ksize and stride must be positive and pad not negative, but along axis ", k + 2,
                      " they are ", ksize[k], ", ", stride[k], " and ", pad[k]);
}
int64_t Window::volume() const {
  int64_t v = 1;
  for (int64_t k : ksize) TORCH_CHECK_VALUE(!__builtin_mul_overflow(v, k, &v), "pooling: ksize is too large");
  return v;
}
Ints Window::pooled(at::IntArrayRef image, bool cover_all) const {
  Ints r;
  for (size_t k = 0; k < ndim(); ++k) {
    const int64_t room = image[k] + 2 * pad[k] - ksize[k] + (cover_all ? stride[k] - 1 : 0);
    TORCH_CHECK(room >= 0, "pooling: a window of ", ksize[k], " does not fit into ", image[k], " with padding ",
                pad[k]);
    r.push_back(room / stride[k] + 1);
  }
  return r;
}
Ints Window::unpooled(at::IntArrayRef map, bool cover_all) const {
  Ints r;
  for (size_t k = 0; k < ndim(); ++k)
    r.push_back(stride[k] * (map[k] - 1) + ksize[k] - 2 * pad[k] - (cover_all ? stride[k] - 1 : 0));
  return r;
}
Ints Window::padded(at::IntArrayRef image, at::IntArrayRef map) const {
  Ints r;
  for (size_t k = 0; k < ndim(); ++k) r.push_back(std::max(pad[k] + image[k], (map[k] - 1) * stride[k] + ksize[k]));
  return r;
}
Tensor Window::add_padding(const Tensor& x, at::IntArrayRef map, double value) const {
  const Ints image = spatial(x.sizes()), large = padded(image, map);
  if (large == image) return x;
  Ints p;
  for (size_t k = ndim(); k-- > 0;) {
    p.push_back(pad[k]);
    p.push_back(large[k] - image[k] - pad[k]);
  }
  return at::constant_pad_nd(x, p, value);
}
Tensor Window::drop_padding(const Tensor& x, at::IntArrayRef image) const {
  Tensor y = x;
  for (size_t k = 0; k < ndim(); ++k)
    if (y.size(k + 2) != image[k]) y = y.narrow(k + 2, pad[k], image[k]);
  return y.contiguous();
}
std::vector<int64_t> Window::integers(at::IntArrayRef large, at::IntArrayRef small, bool whole) const {
  std::vector<int64_t> r(17, 1);
  std::fill_n(r.begin() + 13, 3, 0);
  const size_t n = ndim(), lead = large.size() - n;
  r[0] = c10::multiply_integers(large.slice(0, lead));
  for (size_t k = 0, to = 3 - n; k < n; ++k, ++to) {
    const int64_t numbers[] = {large[lead + k], small[lead + k], ksize[k], stride[k], pad[k]};
    for (size_t j = 0; j < 5; ++j) r[1 + 3 * j + to] = numbers[j];
  }
  r[16] = whole;
  return r;
}
Tensor Window::sums(const Tensor& x, at::IntArrayRef shape, double divisor) const {
  static const kernels::Kernel kernel("window_sums");
  const Tensor given = x.contiguous(), y = at::empty(shape, given.options());
  kernel({y, given}, divisor, integers(x.sizes(), shape, x.is_cpu()));
  return y;
}
Tensor Window::spread_out(const Tensor& x, at::IntArrayRef shape, double divisor) const {
  static const kernels::Kernel kernel("window_spread");
  const Tensor given = x.contiguous(), y = at::empty(shape, given.options());
  kernel({y, given}, divisor, integers(shape, x.sizes(), x.is_cpu()));
  return y;
}

namespace {

// Sums of windows divided by `divisor`, and the transpose; each is the gradient of the other.
struct SumWindow : Window {
  int64_t divisor = 1;

  // From here on: the computation by ATen, for tracers. ATen allows padding of at most half a window, and no windows
  // beyond the padding; over three axes the window must fit without padding.
  bool aten_pads(at::IntArrayRef image, at::IntArrayRef map) const {
    for (size_t k = 0; k < ndim(); ++k)
      if (2 * pad[k] > ksize[k] || (map[k] - 1) * stride[k] + ksize[k] > image[k] + 2 * pad[k] ||
          (ndim() == 3 && ksize[k] > image[k]))
        return false;
    return true;
  }
  SumWindow for_aten(bool pads) const {
    SumWindow w = *this;
    if (!pads) w.pad.assign(ndim(), 0);
    if (ndim() > 1) return w;
    w.ksize.insert(w.ksize.begin(), 1);
    w.stride.insert(w.stride.begin(), 1);
    w.pad.insert(w.pad.begin(), 0);
    return w;
  }
  static bool positive(at::IntArrayRef sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n > 0; });
  }
  // On the CPU ATen has no kernels for half precision over three axes, and sums are more precise in single precision.
  static bool widens(const Tensor& x) { return x.scalar_type() == at::kHalf && x.device().is_cpu(); }
  Tensor pool(const Tensor& x, at::IntArrayRef map) const {
    if (kernels::takes(x)) return sums(x, with_spatial(x.sizes(), map), double(divisor));
    if (kernels::only_shape(x) && positive(map)) return at::empty(with_spatial(x.sizes(), map), x.options());
    if (widens(x)) return pool(x.to(at::kFloat), map).to(at::kHalf);
    const bool pads = aten_pads(spatial(x.sizes()), map), line = ndim() == 1;
    const SumWindow w = for_aten(pads);
    Tensor given = pads ? x : add_padding(x, map, 0);
    if (line) given = given.unsqueeze(2);
    // In a graph, ATen's mean without divisor is used, because converters to other formats ignore the divisor.
    const bool mean = kernels::traced(x);
    const auto by = mean ? std::nullopt : std::optional<int64_t>(divisor);
    Tensor y = w.ndim() == 2 ? at::avg_pool2d(given, w.ksize, w.stride, w.pad, false, true, by)
                             : at::avg_pool3d(given, w.ksize, w.stride, w.pad, false, true, by);
    if (mean && divisor != volume()) y = y * (static_cast<double>(volume()) / static_cast<double>(divisor));
    return line ? y.squeeze(2) : y;
  }
  Tensor spread(const Tensor& gy, at::IntArrayRef image) const {
    if (kernels::takes(gy)) return spread_out(gy, with_spatial(gy.sizes(), image), double(divisor));
    if (kernels::only_shape(gy) && positive(image)) return at::empty(with_spatial(gy.sizes(), image), gy.options());
    if (widens(gy)) return spread(gy.to(at::kFloat), image).to(at::kHalf);
    const Ints map = spatial(gy.sizes());
    const bool pads = aten_pads(image, map), line = ndim() == 1;
    const SumWindow w = for_aten(pads);
    // The kernel reads only the shape of its second argument.
    Tensor x = at::empty(with_spatial(gy.sizes(), pads ? image : at::IntArrayRef(padded(image, map))), gy.options());
    if (line) x = x.unsqueeze(2);
    const Tensor g = line ? gy.unsqueeze(2) : gy;
    Tensor gx = w.ndim() == 2 ? at::avg_pool2d_backward(g, x, w.ksize, w.stride, w.pad, false, true, divisor)
                              : at::avg_pool3d_backward(g, x, w.ksize, w.stride, w.pad, false, true, divisor);
    if (line) gx = gx.squeeze(2);
    return pads ? gx : drop_padding(gx, image);
  }
};

Tensor unpooling(const SumWindow& w, const Tensor& gy, Ints image) { return w.spread(gy, image); }
Var unpooling(const SumWindow& w, const Var& gy, Ints image);

struct SumPooling : SumWindow {
  bool cover_all = false;
  std::optional<Ints> outsize;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &SumPooling::ksize), param("stride", &SumPooling::stride),
                           param("pad", &SumPooling::pad), param("cover_all", &SumPooling::cover_all),
                           param("outsize", &SumPooling::outsize), param("divisor", &SumPooling::divisor));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    complete(x.dim() - 2);
    return pool(x, outsize ? *outsize : pooled(spatial(x.sizes()), cover_all));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return unpooling(*this, c.gy(), spatial(c.in_sizes(0))); });
  }
};
CG_OP("sum_pooling", SumPooling, "Sum of each window over the axes after the first two, divided by divisor.")

struct Unpooling : SumWindow {
  std::optional<Ints> outsize;
  bool cover_all = true;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &Unpooling::ksize), param("stride", &Unpooling::stride),
                           param("pad", &Unpooling::pad), param("outsize", &Unpooling::outsize),
                           param("cover_all", &Unpooling::cover_all), param("divisor", &Unpooling::divisor));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    complete(x.dim() - 2);
    return spread(x, outsize ? *outsize : unpooled(spatial(x.sizes()), cover_all));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(SumPooling{{*this}, false, spatial(c.in_sizes(0))}, c.gy()); });
  }
};
CG_OP("unpooling", Unpooling,
      "Adds each element, divided by divisor, to all elements of its window: sum_pooling transposed.")

Var unpooling(const SumWindow& w, const Var& gy, Ints image) { return run(Unpooling{{w}, std::move(image)}, gy); }

struct AveragePooling : SumWindow {
  std::optional<double> pad_value = 0.0;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &AveragePooling::ksize), param("stride", &AveragePooling::stride),
                           param("pad", &AveragePooling::pad), param("pad_value", &AveragePooling::pad_value));
  }
  static constexpr Mask saves = 0;
  Tensor counts;  // the number of image elements in each window, if the padding is not counted
  static constexpr auto stored() { return std::make_tuple(param("counts", &AveragePooling::counts)); }

  Tensor forward(const Tensor& x) {
    complete(x.dim() - 2);
    const Ints image = spatial(x.sizes()), map = pooled(image, false);
    if (pad_value) {
      TORCH_CHECK_VALUE(*pad_value == 0, "average_pooling: pad_value must be 0 or None, not ", *pad_value);
      divisor = volume();
      return pool(x, map);
    }
    counts = pool(at::ones(with_spatial({1, 1}, image), x.options()), map);
    return pool(x, map).div_(counts);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return unpooling(*this, counts.defined() ? c.gy() / counts : c.gy(), spatial(c.in_sizes(0))); });
  }
};
CG_OP("average_pooling", AveragePooling,
      "Mean of each window over the axes after the first two. pad_value 0: the padding counts as zeros; None: it does "
      "not count.")

}  // namespace

Tensor sum_pooling(const Tensor& x, Ints ksize, Ints stride, Ints pad) {
  return SumPooling{{{std::move(ksize), std::move(stride), std::move(pad)}}}.forward(x);
}
Var sum_pooling(const Var& x, Ints ksize, Ints stride, Ints pad) {
  return run(SumPooling{{{std::move(ksize), std::move(stride), std::move(pad)}}}, x);
}

}  // namespace cg
