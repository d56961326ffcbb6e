// Pooling whose windows may reach beyond the padding, and repetition, its transpose.
#include <ATen/ops/tensor.h>

#include "ops/named.h"
#include "ops/pool.h"

namespace cg {
namespace {

struct WindowPooling : Window {
  bool ignore_border = true;  // else there is one window for each start that is not behind the image's last element
  std::string divisor = "none";
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &WindowPooling::ksize), param("stride", &WindowPooling::stride),
                           param("pad", &WindowPooling::pad), param("ignore_border", &WindowPooling::ignore_border),
                           param("divisor", &WindowPooling::divisor));
  }
  static constexpr unsigned saves = 0;
  Tensor counts;  // elements in each window

  Ints windows(at::IntArrayRef image) const {
    if (ignore_border) return pooled(image, false);
    Ints r;
    for (size_t k = 0; k < ndim(); ++k) r.push_back((image[k] + pad[k] - 1) / stride[k] + 1);
    return r;
  }
  Tensor counted(at::IntArrayRef image, at::IntArrayRef map, const Tensor& like) const {
    const bool padded = divisor == "padded";
    TORCH_CHECK_VALUE(padded || divisor == "image",
                      "window_pooling: divisor must be 'none', 'padded' or 'image', not '", divisor, "'");
    std::vector<float> n{1};
    for (size_t k = 0; k < ndim(); ++k) {
      std::vector<float> longer;
      for (float lead : n)
        for (int64_t i = 0; i < map[k]; ++i) {
          const int64_t start = i * stride[k] - pad[k], end = std::min(start + ksize[k], image[k] + pad[k]);
          const int64_t length = padded ? end - start : std::min(end, image[k]) - std::max<int64_t>(start, 0);
          longer.push_back(lead * float(std::max<int64_t>(length, 0)));
        }
      n = std::move(longer);
    }
    return at::tensor(n).view(map).to(like.options());
  }
  Tensor forward(const Tensor& x) {
    complete(x.dim() - 2);
    const at::IntArrayRef image = x.sizes().slice(2);
    const Ints map = windows(image);
    Tensor y = Named(CG_NAMED("sum_pooling"))
                   .with("ksize", ksize)
                   .with("stride", stride)
                   .with("pad", pad)
                   .with("outsize", std::optional<Ints>(map))(x);
    if (divisor == "none") return y;
    counts = counted(image, map, x);
    return y.div_(counts);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return Named(CG_NAMED("unpooling"))
          .with("ksize", ksize)
          .with("stride", stride)
          .with("pad", pad)
          .with("outsize",
                std::optional<Ints>(spatial(c.in_sizes(0))))(divisor == "none" ? c.gy() : c.gy() / c.saved(counts));
    });
  }
};
CG_OP("window_pooling", WindowPooling,
      "Sum of each window over the axes after the first two; without ignore_border also of those that reach beyond the "
      "padding if they begin in the image. divisor: 'padded' divides by the elements of the padded image in the "
      "window, 'image' by those of "
      "the image.")

struct RepeatBlocks {
  Ints kernel;
  bool channel_last = false;
  static constexpr auto params() {
    return std::make_tuple(required("kernel", &RepeatBlocks::kernel),
                           param("channel_last", &RepeatBlocks::channel_last));
  }
  static constexpr unsigned saves = 0;

  // As the pooling ops take it: (samples, channels, *space).
  template <class T>
  T planes(const T& x) const {
    const int64_t n = kernel.size(), lead = x.dim() - n - channel_last;
    TORCH_CHECK(lead >= 0 && n >= 1 && n <= 3, "unpooling: kernel must have 1 to 3 entries and no more than the ",
                x.dim() - channel_last, " axes of x, not ", kernel);
    Ints sizes{1, 1}, axes{0, n + 1};
    for (int64_t n : x.sizes().slice(0, lead)) sizes[0] *= n;
    for (int64_t k = 0; k < n; ++k) axes.push_back(k + 1);
    sizes.append(x.sizes().begin() + lead, x.sizes().end());
    if (!channel_last) return reshape(x, sizes);
    sizes.erase(sizes.begin() + 1);
    return permute(reshape(x, sizes), axes);
  }
  template <class T>
  T from_planes(const T& y, at::IntArrayRef sizes) const {
    if (!channel_last) return reshape(y, sizes);
    Ints axes{0};
    for (int64_t k = 2; k < y.dim(); ++k) axes.push_back(k);
    axes.push_back(1);
    return reshape(permute(y, axes), sizes);
  }
  Tensor forward(const Tensor& x) {
    const Tensor y =
        Named(CG_NAMED("unpooling")).with("ksize", kernel).with("cover_all", false)(planes(x).contiguous());
    Ints sizes = ints(x.sizes());
    for (size_t k = 0, first = sizes.size() - kernel.size() - channel_last; k < kernel.size(); ++k)
      sizes[first + k] *= kernel[k];
    return from_planes(y, sizes);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return from_planes(Named(CG_NAMED("sum_pooling")).with("ksize", kernel)(planes(c.gy())), c.in_sizes(0));
    });
  }
};
CG_OP("repeat_blocks", RepeatBlocks,
      "Each element repeated along the last axes, kernel saying how often; channel_last: along those before the last.")

}  // namespace
}  // namespace cg
