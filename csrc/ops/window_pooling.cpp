// Sums and means over windows of the last axes, with windows that may reach beyond the padding; and repetition along
// these axes.
#include <ATen/ops/tensor.h>

#include "core/named.h"
#include "kernels/kernel.h"
#include "kernels/only_shape.h"
#include "ops/pooling.h"

namespace cg {
namespace {

// x reshaped to (samples, channels, *space).
template <class T>
T as_planes(const T& x, size_t n) {
  Ints sizes{1, 1};
  for (int64_t k : x.sizes().slice(0, x.dim() - n)) sizes[0] *= k;
  sizes.append(x.sizes().end() - n, x.sizes().end());
  return shaped(x, sizes);
}

struct WindowPooling : Window {
  bool ignore_border = true;  // otherwise there is a window for each start up to the image's last element
  std::string divisor = "none";
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &WindowPooling::ksize), param("stride", &WindowPooling::stride),
                           param("pad", &WindowPooling::pad), param("ignore_border", &WindowPooling::ignore_border),
                           param("divisor", &WindowPooling::divisor));
  }
  static constexpr Mask saves = 0;
  Tensor counts;  // the number of elements in each window, if it is not the same for all
  static constexpr auto stored() { return std::make_tuple(param("counts", &WindowPooling::counts)); }

  Ints windows(at::IntArrayRef image) const {
    if (ignore_border) return pooled(image, false);
    Ints r;
    for (size_t k = 0; k < ndim(); ++k) r.push_back((image[k] + pad[k] - 1) / stride[k] + 1);
    return r;
  }
  bool counting() const { return divisor == "image" || (divisor == "padded" && !ignore_border); }
  double constant_divisor() const { return divisor == "padded" && ignore_border ? double(volume()) : 1.0; }
  Tensor counted(at::IntArrayRef image, at::IntArrayRef map, const Tensor& like) const {
    std::vector<float> n{1};
    for (size_t k = 0; k < ndim(); ++k) {
      std::vector<float> longer;
      for (float lead : n)
        for (int64_t i = 0; i < map[k]; ++i) {
          const int64_t start = i * stride[k] - pad[k], end = std::min(start + ksize[k], image[k] + pad[k]);
          const int64_t length =
              divisor == "padded" ? end - start : std::min(end, image[k]) - std::max<int64_t>(start, 0);
          longer.push_back(lead * float(std::max<int64_t>(length, 0)));
        }
      n = std::move(longer);
    }
    return kernels::constant(n, at::kFloat).view(map).to(like.options());
  }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(divisor == "none" || divisor == "padded" || divisor == "image",
                      "window_pooling: divisor must be 'none', 'padded' or 'image', not '", divisor, "'");
    complete(ksize.size());
    TORCH_CHECK_VALUE(x.dim() >= int64_t(ndim()), "window_pooling: x of ", x.dim(), " axes has no windows over ",
                      ndim());
    const at::IntArrayRef image = x.sizes().slice(x.dim() - ndim());
    const Ints map = windows(image);
    Ints sizes = ints(x.sizes().slice(0, x.dim() - ndim()));
    sizes.append(map.begin(), map.end());
    Tensor y;
    if (kernels::takes(x)) {
      y = sums(x, sizes, counting() ? 1.0 : constant_divisor());
      if (!counting()) return y;
    } else {
      y = reshape(placed(CG_NAMED("sum_pooling"), map)(as_planes(x, ndim())), sizes);
    }
    if (counting()) {
      counts = counted(image, map, x);
      if (!kernels::only_shape(y)) y.div_(counts);
    } else if (constant_divisor() != 1 && !kernels::only_shape(y)) {
      y.div_(constant_divisor());
    }
    return y;
  }
  // Whether there is only one window, the whole image. All elements then have the same gradient, a broadcast tensor.
  bool one_window(at::IntArrayRef x, at::IntArrayRef y) const {
    const size_t n = ndim(), first = x.size() - n;
    for (size_t k = 0; k < n; ++k)
      if (pad[k] || ksize[k] != x[first + k] || y[first + k] != 1) return false;
    return true;
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      if (one_window(c.in_sizes(0), c.gy().sizes())) return broadcasted(divided(c, c.gy()), c.in_sizes(0));
      if (!kernels::takes(c.gy())) return spread(divided(c, c.gy()), c.in_sizes(0));
      if (counting()) return spread_out(divided(c, c.gy()), c.in_sizes(0), 1.0);
      return spread_out(c.gy(), c.in_sizes(0), constant_divisor());
    });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return spread(divided(c, c.gy()), c.in_sizes(0)); });
  }
  template <class T>
  T divided(Ctx<T>& c, const T& gy) const {
    if (counting()) return gy / c.saved(counts);
    return constant_divisor() != 1 ? gy * (1 / constant_divisor()) : gy;
  }
  template <class T>
  T spread(const T& gy, at::IntArrayRef sizes) const {
    const Ints image = ints(sizes.slice(sizes.size() - ndim()));
    return shaped(placed(CG_NAMED("unpooling"), image)(as_planes(gy, ndim())), sizes);
  }
  Named placed(const OpInfo* info, const Ints& outsize) const {
    Named r(info);
    r.with("ksize", ksize).with("stride", stride).with("pad", pad).with("outsize", std::optional<Ints>(outsize));
    return r;
  }
};
CG_OP("window_pooling", WindowPooling,
      "Sum of each window over as many of the last axes as ksize has entries; without ignore_border also of windows "
      "that begin in the image and reach beyond the padding. divisor: 'padded' divides by the number of elements of "
      "the padded image in the window, 'image' by that of the image.")

struct RepeatBlocks {
  Ints kernel;
  static constexpr auto params() { return std::make_tuple(required("kernel", &RepeatBlocks::kernel)); }
  static constexpr Mask saves = 0;

  Tensor forward(const Tensor& x) {
    const size_t n = kernel.size();
    TORCH_CHECK_VALUE(n >= 1 && n <= 3 && x.dim() >= int64_t(n),
                      "repeat_blocks: kernel must have 1 to 3 entries and no more than the ", x.dim(),
                      " axes of x, not ", kernel);
    Ints sizes = ints(x.sizes());
    for (size_t k = 0; k < n; ++k) sizes[sizes.size() - n + k] *= kernel[k];
    if (!kernels::takes(x))
      return reshape(Named(CG_NAMED("unpooling")).with("ksize", kernel).with("cover_all", false)(as_planes(x, n)),
                     sizes);
    return Window{kernel, kernel, Ints(n, 0)}.spread_out(x, sizes, 1.0);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(WindowPooling{{kernel}}, c.gy()); });
  }
};
CG_OP("repeat_blocks", RepeatBlocks, "Each element repeated along the last axes, kernel[i] times.")

}  // namespace
}  // namespace cg
