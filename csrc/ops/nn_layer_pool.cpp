// Averages of windows that may reach beyond the padding.
#include <ATen/ops/tensor.h>

#include "ops/named.h"
#include "ops/pool.h"

namespace cg {
namespace {

struct WindowMean : Window {
  Ints outsize;
  bool count_pad = true;
  static constexpr auto params() {
    return std::make_tuple(required("ksize", &WindowMean::ksize), required("outsize", &WindowMean::outsize),
                           param("stride", &WindowMean::stride), param("pad", &WindowMean::pad),
                           param("count_pad", &WindowMean::count_pad));
  }
  static constexpr unsigned saves = 0;
  Tensor counts;  // elements in each window

  Tensor counted(at::IntArrayRef image, const Tensor& like) const {
    std::vector<float> n{1};
    for (size_t k = 0; k < ndim(); ++k) {
      std::vector<float> longer;
      for (float lead : n)
        for (int64_t i = 0; i < outsize[k]; ++i) {
          const int64_t start = i * stride[k] - pad[k], end = std::min(start + ksize[k], image[k] + pad[k]);
          const int64_t length = count_pad ? end - start : std::min(end, image[k]) - std::max<int64_t>(start, 0);
          longer.push_back(lead * float(std::max<int64_t>(length, 0)));
        }
      n = std::move(longer);
    }
    return at::tensor(n).view(outsize).to(like.options());
  }
  Tensor forward(const Tensor& x) {
    complete(x.dim() - 2);
    counts = counted(x.sizes().slice(2), x);
    Tensor y = Named(CG_NAMED("sum_pooling"))
                   .with("ksize", ksize)
                   .with("stride", stride)
                   .with("pad", pad)
                   .with("outsize", std::optional<Ints>(outsize))(x);
    return y.div_(counts);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return Named(CG_NAMED("unpooling"))
          .with("ksize", ksize)
          .with("stride", stride)
          .with("pad", pad)
          .with("outsize", std::optional<Ints>(spatial(c.in_sizes(0))))(c.gy() / c.saved(counts));
    });
  }
};
CG_OP(
    "window_mean", WindowMean,
    "Mean of each of outsize windows over the axes after the first two. What a window has beyond the padding does not "
    "count; the padding does if count_pad, as zeros.")

}  // namespace
}  // namespace cg
